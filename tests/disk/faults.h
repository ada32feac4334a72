/* The kernel's faults at will: fsync, syncfs, pread and pwrite of the whole program go through here (the
 * linker's --wrap). All is off until a test sets it; faults_reset at its end. */
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
/* Whether this directory or file was the object of an fsync since faults_reset. */
bool faults_synced(const char *path);
