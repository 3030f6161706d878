/* Spinning on a number that another thread changes. */
#ifndef SPARSEMIX_WAKE_SIGNAL_H
#define SPARSEMIX_WAKE_SIGNAL_H

#include <stdint.h>
#include <time.h>

#include "vectors/portable.h"

#if defined(_WIN32)
#include <windows.h>
#define sparsemix_give_way() SwitchToThread()
#else
#include <sched.h>
#define sparsemix_give_way() sched_yield()
#endif

/* Loads between two reads of the clock, at which the thread also yields its core. */
#define SPARSEMIX_LOOKS 32

static inline double sparsemix_seconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Spin until the number reaches ``wanted``, the time is up, or the clock is set back; returns the number. */
static inline int64_t sparsemix_watch(const int64_t *number, int64_t wanted, double seconds)
{
    double begun = 0.0;
    for (;;) {
        int64_t now = sparsemix_load(number);
        int i;
        for (i = 0; now < wanted && i < SPARSEMIX_LOOKS; i++) {
            sparsemix_pause();
            now = sparsemix_load(number);
        }
        if (now >= wanted)
            return now;
        if (begun == 0.0)
            begun = sparsemix_seconds();
        else {
            const double passed = sparsemix_seconds() - begun;
            if (!(passed >= 0.0 && passed < seconds))
                return now;
        }
        sparsemix_give_way();
    }
}

#endif
