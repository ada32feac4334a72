/* Asking for a cache line that is about to be written. Compilers leave the hint of writing out of what they make for
 * all x86-64 processors; a line that another core wrote last is then fetched twice, to be read and to be owned. */
#pragma once

static inline void prefetch_write(const void *address)
{
#if defined(__x86_64__)
    /* Does nothing where it is not known: all processors of 64 bits take it. */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
    __builtin_prefetch(address, 1);
#endif
}
