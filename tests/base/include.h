/* What cmocka needs before it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))
