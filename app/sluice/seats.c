#include "seats.h"

static uint32_t seats_of(const struct seats *seats, uint32_t user)
{
    uint32_t count = 0;
    for (int index = 0; index < SEATS_MAX; index++)
        count += seats->places[index].taken && seats->places[index].user == user;
    return count;
}

int seat_for(const struct seats *seats, uint32_t user)
{
    int chosen = -1;
    uint32_t most = 0;
    for (int index = 0; index < SEATS_MAX; index++) {
        const struct seat *seat = &seats->places[index];
        if (!seat->taken)
            return index;
        uint32_t count = seats_of(seats, seat->user) + (seat->user == user);
        if (count > most || (count == most && seat->used_ns < seats->places[chosen].used_ns))
            chosen = index;
        most = count > most ? count : most;
    }
    return chosen;
}

int seat_longest_idle(const struct seats *seats)
{
    int chosen = -1;
    for (int index = 0; index < SEATS_MAX; index++)
        if (seats->places[index].taken &&
            (chosen < 0 || seats->places[index].used_ns < seats->places[chosen].used_ns))
            chosen = index;
    return chosen;
}

void seat_take(struct seats *seats, int index, uint32_t user, uint64_t now_ns)
{
    seats->places[index] = (struct seat){.taken = true, .user = user, .used_ns = now_ns};
}

void seat_used(struct seats *seats, int index, uint64_t now_ns)
{
    seats->places[index].used_ns = now_ns;
}

void seat_leave(struct seats *seats, int index)
{
    seats->places[index].taken = false;
}
