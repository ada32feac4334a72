/* Trees for tests, and their transfer from one handle to another without a network. */
#pragma once

#include <sys/stat.h>

#include "fixture.h"

#define SOURCE 1
#define TARGET 2
#define PART   (4 * KB)

/* As path_of; four of them at once. */
const char *path_in(const struct fixture *fixture, const char *file);
void make_directory(const struct fixture *fixture, const char *name);
/* Of what must be there; no link is followed. */
struct stat entry_stat(const struct fixture *fixture, const char *name);
/* "from": a tree with some of everything. */
void make_tree(const struct fixture *fixture);
/* "from"; what the reply tells of it goes into fixture->open. */
struct disk_reply open_tree_source(struct fixture *fixture);
/* The object in blocks of PART bytes. */
uint32_t part_length(const struct fixture *fixture, uint64_t part);
uint64_t parts_of(const struct fixture *fixture);
/* From SOURCE to TARGET, compared and read back. */
void copy_part(struct fixture *fixture, uint64_t part);
void copy_all(struct fixture *fixture, bool backwards);
/* FINISH, and CLOSE of both. */
void finish_tree(struct fixture *fixture, const char *name);
/* "from" becomes `name`, its blocks in order or backwards. */
void copy_tree(struct fixture *fixture, const char *name, bool backwards);
/* 0: names and contents are equal. */
int compare_trees(const struct fixture *fixture, const char *left, const char *right);
