/* The exit status that all programs have in common. */
#pragma once

#define EXIT_USAGE 2 /* wrong usage, or a file that has errors */
