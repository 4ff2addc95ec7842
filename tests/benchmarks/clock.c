// Loaded before libc (LD_PRELOAD): a calendar clock that jumps by up to a year, back and forth, whenever it is asked. The
// clock that only goes on (CLOCK_MONOTONIC) is left alone, as a real system leaves it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long jump(void) {
    static unsigned seed = 1;
    return (long)(rand_r(&seed) % 63072000u) - 31536000;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
    const int status = ((__typeof__(&clock_gettime))dlsym(RTLD_NEXT, "clock_gettime"))(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += jump();
    return status;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
    const int status = ((__typeof__(&gettimeofday))dlsym(RTLD_NEXT, "gettimeofday"))(now, zone);
    now->tv_sec += jump();
    return status;
}

time_t time(time_t* out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
