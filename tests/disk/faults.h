/* The kernel's faults at will: fsync, syncfs, pread, pwrite, flock, linkat, renameat2 and fstatvfs of the whole program go
 * through here (the linker's --wrap). All is off until a test sets it; faults_reset at its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FAULTS_SYNCED_MAX 64

void faults_reset(void);

/* The next fsync or syncfs, of whatever, waits from now on until the gate opens. */
void faults_close_gate(void);
/* Waits until a sync stands at the gate. */
void faults_await_at_gate(void);
void faults_open_gate(void);

/* pread and pwrite of files on this device (st_dev) hang from now on; 0: nothing hangs. */
void faults_hang(dev_t device);
/* Waits until so many hang. */
void faults_await_hanging(int count);

/* Every fsync and syncfs fails with this; 0: none does. */
void faults_fail_sync(int error);
/* pread and pwrite do at most so many bytes at once; 0: as many as they are asked for. */
void faults_cut(size_t bytes_max);
/* What filesystems lack; several at once, 0: nothing. */
enum faults_lack {
    FAULTS_NO_LOCKS = 1,      /* flock fails with `error` */
    FAULTS_NO_LINKS = 2,      /* neither hard links (`error`) nor flags of renameat2 (EINVAL) */
    FAULTS_SPACE_UNKNOWN = 4, /* statvfs gives zeros */
    FAULTS_NO_STATVFS = 8,    /* statvfs fails with `error` */
};
void faults_lack(unsigned lacks, int error);
/* Whether this directory or file was the object of an fsync since faults_reset. */
bool faults_synced(const char *path);
