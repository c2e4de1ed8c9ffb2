/* What sending over the link between chips takes. */
#ifndef PYRO_HARDWARE_LINK_H
#define PYRO_HARDWARE_LINK_H

/* Of the link's rate that collectives reach, and what each message takes at least. */
#define PYRO_LINK_SHARE 0.8
#define PYRO_LINK_MESSAGE_NS 10000.0

/* Nanoseconds that `bytes` per chip take, in `messages` one after another; -1: unknown rate. */
static inline double pyro_link_ns(double link_bytes_per_s, double bytes, double messages)
{
    double rate = link_bytes_per_s * PYRO_LINK_SHARE;
    return rate > 0 ? 1e9 * bytes / rate + messages * PYRO_LINK_MESSAGE_NS : -1;
}

#endif
