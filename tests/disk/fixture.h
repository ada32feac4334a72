/* A disk with its threads, a directory of its own, and one request at a time. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "disk/disk.h"

#define KB        1024u
#define BLOCK     (64 * KB)
#define FIXED_NS  1700000000123456789ULL /* a modification time with all its digits */
#define PATH_ROOM 1200

struct fixture {
    struct disk *disk;
    char directory[64];
    struct disk_open open;
};

void fixture_start(struct fixture *fixture, uint32_t threads, bool sparse);
/* Stops the disk and removes the directory with all that is in it. */
void fixture_stop(struct fixture *fixture);

/* Submits and waits for the reply. */
struct disk_reply ask(struct fixture *fixture, const struct disk_request *request);
struct disk_reply ask_op(struct fixture *fixture, enum disk_op op, uint8_t handle);
struct disk_reply ask_write(struct fixture *fixture, uint8_t handle, uint8_t *data, uint32_t length,
                            uint64_t offset);
struct disk_reply ask_read(struct fixture *fixture, uint8_t handle, uint8_t *data, uint32_t length,
                           uint64_t offset);
/* Opens a target `file` in the fixture's directory by fixture->open, whose other fields the caller may set.
 */
struct disk_reply ask_target(struct fixture *fixture, uint8_t handle, const char *file, uint64_t size_bytes);
struct disk_reply ask_source(struct fixture *fixture, uint8_t handle, const char *file);

/* Helpers on files below the fixture's directory. */
const char *path_of(const struct fixture *fixture, const char *file);
void make_file(const struct fixture *fixture, const char *file, const void *data, size_t length,
               uint64_t modified_ns);
bool file_exists(const struct fixture *fixture, const char *file);
void assert_content(const struct fixture *fixture, const char *file, const void *data, size_t length);
/* Whether the filesystem of the fixture has attributes of the user, by which leftovers are known. */
bool knows_attributes(const struct fixture *fixture);
void assert_failed(const struct disk_reply *reply, const char *text_part);

int run_disk_tests(void);
int run_place_tests(void);
int run_error_tests(void);
int run_rights_tests(void);
int run_tree_tests(void);
int run_tree_receiver_tests(void);
int run_tree_random_tests(void);
int run_replace_tests(void);
int run_lacks_tests(void);
int run_stream_tests(void);
int run_sealed_tests(void);
int run_long_tests(void);
int run_hung_tests(void);
int run_rates_tests(void);
