/* A kernel shares out its items among the threads that listen, without the interpreter: a hand-over of Python work takes
 * a tenth of a millisecond, this one a microsecond.
 *
 * The owner opens the task, takes items like every other thread, closes the task, and waits until no thread is inside.
 * A thread enters before it looks whether the task is open. Both write first and then read the other number by an
 * atomic addition, so that at least one sees what the other has written: no thread runs items of a closed task. */
#ifndef SPARSEMIX_POOL_H
#define SPARSEMIX_POOL_H

#include "threads/wake_signal.h"

typedef void (*sparsemix_item)(void *context, int64_t item);

typedef struct {
    sparsemix_item run;
    void *context;
    int64_t n_items;
    int64_t owned;  /* 0: free */
    int64_t is_open;
    char apart[64]; /* threads that take items change another cache line than those that look */
    int64_t n_taken, n_inside;
} sparsemix_pool;

static inline void sparsemix_take_items(sparsemix_pool *pool)
{
    int64_t item;
    while ((item = sparsemix_fetch_add(&pool->n_taken, 1)) < pool->n_items)
        pool->run(pool->context, item);
}

/* Run all items, in any order, on this thread and those that listen. Without a pool, and inside of another task, this
 * thread runs them. */
static inline void sparsemix_share_items(sparsemix_pool *pool, sparsemix_item run, void *context, int64_t n_items)
{
    int64_t item, looks = 0;
    if (pool == NULL || n_items < 2 || sparsemix_fetch_add(&pool->owned, 1) != 0) {
        if (pool != NULL && n_items >= 2)
            sparsemix_fetch_add(&pool->owned, -1);
        for (item = 0; item < n_items; item++)
            run(context, item);
        return;
    }
    pool->run = run;
    pool->context = context;
    pool->n_items = n_items;
    sparsemix_fetch_add(&pool->n_taken, -sparsemix_load(&pool->n_taken)); /* no thread is inside */
    sparsemix_fetch_add(&pool->is_open, 1);
    sparsemix_take_items(pool);
    sparsemix_fetch_add(&pool->is_open, -1);
    sparsemix_fetch_add(&pool->n_inside, 0);
    while (sparsemix_load(&pool->n_inside) != 0)
        if (++looks % SPARSEMIX_LOOKS == 0)
            sparsemix_give_way();
        else
            sparsemix_pause();
    sparsemix_fetch_add(&pool->owned, -1);
}

/* Whether a task has items left. */
static inline int sparsemix_has_items(sparsemix_pool *pool)
{
    return sparsemix_load(&pool->is_open) && sparsemix_load(&pool->n_taken) < sparsemix_load(&pool->n_items);
}

/* Take items of the open task. */
static inline void sparsemix_join(sparsemix_pool *pool)
{
    sparsemix_fetch_add(&pool->n_inside, 1);
    if (sparsemix_fetch_add(&pool->is_open, 0))
        sparsemix_take_items(pool);
    sparsemix_fetch_add(&pool->n_inside, -1);
}

/* Take items of tasks until ``number`` reaches ``wanted``, or no task has had items for some seconds. */
static inline void sparsemix_listen(sparsemix_pool *pool, const int64_t *number, int64_t wanted, double seconds)
{
    double begun = sparsemix_seconds(), passed;
    do {
        int i;
        for (i = 0; i < SPARSEMIX_LOOKS; i++) {
            if (sparsemix_load(number) >= wanted)
                return;
            if (sparsemix_has_items(pool)) {
                sparsemix_join(pool);
                begun = sparsemix_seconds();
            }
            sparsemix_pause();
        }
        sparsemix_give_way();
        passed = sparsemix_seconds() - begun;
    } while (passed >= 0.0 && passed < seconds); /* the clock may be set back */
}

#endif
