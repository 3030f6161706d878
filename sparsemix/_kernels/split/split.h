/* Gibbs sampling of documents under frozen topics, in time proportional to the topics of each document; the loops
 * are in split_loops.h.
 *
 * The conditional of a token is phi_wk (N_jk + alpha_k), phi_wk = (N_wk + beta) / (N_k + V beta). The first part has
 * one term per topic of the document. The second part, alpha_k phi_wk, is fixed while the topics are frozen; its
 * sums over blocks of topics are computed once per word. Topics of a document have slots, in order of arrival.
 *
 * All tokens of a word type are drawn from one conditional. For one token it is exact; for several it excludes one
 * token, in equal parts, whereas Gibbs sampling would draw token by token. A token that the table counts, at the
 * topics of its samples at the last visit, leaves these counts too (split_own.h). */
#ifndef SPARSEMIX_SPLIT_H
#define SPARSEMIX_SPLIT_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "documents/packed.h"
#include "collapsed/own_token.h"
#include "random/random.h"
#include "split/counts.h"
#include "vectors/simd.h"

/* A type has one sample per token, but at most this many. */
#define SPARSEMIX_MOST_SAMPLES 32
/* Topics per block of fixed parts. */
#define SPARSEMIX_SPLIT_BLOCK 128

static inline int sparsemix_split_samples(double count)
{
    const int whole = count > SPARSEMIX_MOST_SAMPLES ? SPARSEMIX_MOST_SAMPLES : (int)count; /* ceil may be a call */
    return count > SPARSEMIX_MOST_SAMPLES ? SPARSEMIX_MOST_SAMPLES : whole + (whole < count);
}

/* Topics of samples, in two or four bytes; -1 throughout a document without samples. */
typedef struct {
    void *values;
    int wide;
} sparsemix_states;

static inline int sparsemix_state(sparsemix_states states, int64_t at)
{
    return states.wide ? ((const int32_t *)states.values)[at] : ((const int16_t *)states.values)[at];
}

static inline void sparsemix_set_state(sparsemix_states states, int64_t at, int topic)
{
    if (states.wide)
        ((int32_t *)states.values)[at] = topic;
    else
        ((int16_t *)states.values)[at] = (int16_t)topic;
}

/* Settings shared by a block of documents. */
typedef struct {
    ptrdiff_t n_components; /* K */
    ptrdiff_t n_blocks;     /* of topics */
    ptrdiff_t width;        /* K padded: between the fixed parts of two groups of documents */
    int n_sweeps;           /* the last one adds to the statistics */
    int exclude;            /* own tokens leave the document's counts */
    uint64_t seed;
    int64_t visit;
    double base;            /* (offset + topic_word_prior) / factor: added to every count of the table */
} sparsemix_split_settings;

/* Groups of documents, each with a prior: the group of each entry, or NULL if all have one prior. */
typedef struct {
    const int *of_entry;
    ptrdiff_t width; /* K padded: between the fixed parts of two groups */
    void *memory;    /* (K padded,) aligned */
} sparsemix_split_groups;

/* Least size of a block of records: pages without records do not become resident. */
#define SPARSEMIX_BLOCK_BYTES ((size_t)1 << 21)

/* The record of an entry: count times gamma on the document's topics; a separate array holds the fixed part's share. */
typedef struct {
    int64_t values, topics, n; /* addresses, and how many there are */
} sparsemix_split_record;

/* A growing array, aligned to a cache line. */
typedef struct {
    void *raw;
    char *start;
    size_t size;
} sparsemix_array;

/* Ensure ``size`` bytes, keeping the first ``used``; -1 if out of memory. */
static inline int sparsemix_grow(sparsemix_array *array, size_t used, size_t size)
{
    if (size > array->size) {
        const size_t wanted = size + size / 2;
        void *raw = malloc(wanted + 64);
        char *start = (char *)raw + (64 - (uintptr_t)raw % 64) % 64;
        if (!raw)
            return -1;
        if (used)
            memcpy(start, array->start, used);
        free(array->raw);
        array->raw = raw;
        array->start = start;
        array->size = wanted;
    }
    return 0;
}

/* Blocks filled one after the other. What is in them does not move, and the next visit fills the same blocks. */
typedef struct {
    sparsemix_array *blocks;
    size_t n, current; /* blocks, and the one that is being filled */
    size_t used;       /* bytes of it */
} sparsemix_arena;

/* ``size`` bytes after those in use, which begin with the first ``kept`` bytes there; NULL if out of memory. The bytes
 * are in use once the caller adds their size to ``used``. */
static inline char *sparsemix_extend(sparsemix_arena *arena, size_t kept, size_t size)
{
    const size_t least = size > SPARSEMIX_BLOCK_BYTES ? size : SPARSEMIX_BLOCK_BYTES;
    const char *old = arena->n ? arena->blocks[arena->current].start + arena->used : NULL;
    const int in_place = arena->n && arena->used == 0;
    if (arena->n && arena->used + size <= arena->blocks[arena->current].size)
        return (char *)old;
    arena->current += arena->used > 0;
    arena->used = 0;
    if (arena->current == arena->n) {
        sparsemix_array *blocks = realloc(arena->blocks, (arena->n + 1) * sizeof *blocks);
        if (!blocks)
            return NULL;
        arena->blocks = blocks;
        memset(blocks + arena->n++, 0, sizeof *blocks);
    }
    if (sparsemix_grow(arena->blocks + arena->current, in_place ? kept : 0, least))
        return NULL;
    if (kept && !in_place)
        memcpy(arena->blocks[arena->current].start, old, kept);
    return arena->blocks[arena->current].start;
}

enum {
    SPARSEMIX_SPLIT_PLACES, /* slots of a document's samples */
    SPARSEMIX_SPLIT_NOW,
    SPARSEMIX_SPLIT_START,
    SPARSEMIX_SPLIT_SUMS,
    SPARSEMIX_SPLIT_TOPIC,
    SPARSEMIX_SPLIT_BORN,
    SPARSEMIX_SPLIT_FREE,
    SPARSEMIX_SPLIT_OWN_BLOCKS, /* sums of the fixed part of a document with a prior of its group */
    SPARSEMIX_SPLIT_ARRAYS
};

enum { SPARSEMIX_SPLIT_OK, SPARSEMIX_SPLIT_NO_MEMORY, SPARSEMIX_SPLIT_NO_TOPIC };

/* Scratch memory of a thread, which also holds the records of its documents. */
typedef struct {
    sparsemix_array arrays[SPARSEMIX_SPLIT_ARRAYS];
    sparsemix_arena arena; /* rows and topics of all its documents */
    ptrdiff_t n_slots;     /* allocated */
    int *slot;             /* (K,) slot of each topic of the current document; or -1 */
} sparsemix_split_work;

static inline void sparsemix_split_free(sparsemix_split_work *work)
{
    size_t i;
    for (i = 0; i < SPARSEMIX_SPLIT_ARRAYS; i++)
        free(work->arrays[i].raw);
    for (i = 0; i < work->arena.n; i++)
        free(work->arena.blocks[i].raw);
    free(work->arena.blocks);
    free(work->slot);
    memset(work, 0, sizeof *work);
}

/* One document, and scratch for its sweeps. */
#define SPARSEMIX_SPLIT_STRUCT(REAL)                                                                                   \
    typedef struct {                                                                                                   \
        const sparsemix_split_settings *s;                                                                             \
        const REAL *table;    /* (V, K) counts by word and topic, */                                                   \
        sparsemix_counts_##REAL packed; /* or the same packed, if heads is set */                                      \
        const REAL *inverse;  /* (K padded,) factor / (N_k + V topic_word_prior) */                                    \
        const REAL *fixed;    /* (K padded,) alpha_k times that, for the document's alpha */                           \
        const REAL *blocks;   /* (V, blocks) sums of the fixed part up to the end of each block */                     \
        REAL *own_blocks;     /* (U, blocks) these sums under the alpha of the document's group; or NULL */            \
        sparsemix_split_work *work;                                                                                    \
        REAL *rows;           /* (U, stride) phi of each type in each slot; at the end, the records of entries */      \
        ptrdiff_t stride;     /* slots allocated per row */                                                            \
        ptrdiff_t n_slots;    /* in use */                                                                             \
        ptrdiff_t n_weighed;  /* covered by the running sums */                                                        \
        ptrdiff_t n_free;     /* of these, without a token at the start of the sweep */                                \
        REAL *now, *start;    /* (stride,) N_jk of samples; recalled counts */                                         \
        REAL *sums;           /* (stride,) running sums of the weights of a type */                                    \
        int *topic, *born;    /* (stride,) of each slot: its topic; the type at which it came in this sweep, or -1 */  \
        int *unused;          /* (n_free,) */                                                                          \
        int *places;          /* slots of the samples */                                                               \
        ptrdiff_t n_types;    /* U */                                                                                  \
        const int *types;     /* (U,) rows of the table */                                                             \
        const REAL *counts;   /* (U,) c */                                                                             \
        REAL *shares;         /* (U,) an entry's unnormalised factor of the fixed part */                              \
        sparsemix_split_record *records; /* (U,) */                                                                    \
        uint64_t key;         /* of the document's random numbers */                                                   \
        double length;        /* C_j */                                                                                \
        REAL own;             /* one of its tokens in the table, in the table's units; or zero */                      \
        sparsemix_states states; /* samples of the last visit, until the end of this one, */                           \
        int64_t first_state;  /* from here on */                                                                       \
    } split_##REAL;

SPARSEMIX_SPLIT_STRUCT(float)
SPARSEMIX_SPLIT_STRUCT(double)

#define LOOPS "split/split_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

#define SPARSEMIX_SPLIT(REAL)                                                                                          \
    static int sparsemix_split_documents_##REAL(                                                                       \
        int isa, const sparsemix_split_settings *settings, ptrdiff_t n_docs, const int64_t *indptr,                    \
        const int *indices, const REAL *counts, const int64_t *numbers, const REAL *table,                             \
        const sparsemix_counts_##REAL *packed, const REAL *inverse, const REAL *fixed, const REAL *blocks,             \
        const int64_t *start_indptr, const int *start_topics, const REAL *start_values, sparsemix_split_work *work,    \
        const int64_t *state_indptr, sparsemix_states states, sparsemix_split_record *records, REAL *shares,           \
        const int *order, int64_t *next, const double *own, const int *groups)                                         \
    {                                                                                                                  \
        int status = SPARSEMIX_SPLIT_OK;                                                                               \
        split_##REAL d;                                                                                                \
        memset(&d, 0, sizeof d);                                                                                       \
        d.s = settings;                                                                                                \
        d.table = table;                                                                                               \
        d.packed = *packed;                                                                                            \
        d.inverse = inverse;                                                                                           \
        d.fixed = fixed;                                                                                               \
        d.blocks = blocks;                                                                                             \
        d.work = work;                                                                                                 \
        SPARSEMIX_DISPATCH(isa, split_documents, REAL, &d, n_docs, indptr, indices, counts, numbers, start_indptr,     \
                           start_topics, start_values, state_indptr, states, records, shares, order, next, own,        \
                           groups, fixed, &status);                                                                    \
        return status;                                                                                                 \
    }                                                                                                                  \
    static void sparsemix_split_blocks_##REAL(int isa, const REAL *table, ptrdiff_t n_components, ptrdiff_t n_blocks,  \
                                              REAL base, const REAL *fixed, const int *words, ptrdiff_t first,         \
                                              ptrdiff_t last, REAL *blocks)                                            \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, split_blocks, REAL, table, n_components, n_blocks, base, fixed, words, first, last,    \
                           blocks);                                                                                    \
    }                                                                                                                  \
    static void sparsemix_split_packed_blocks_##REAL(                                                                  \
        int isa, const sparsemix_counts_##REAL *packed, ptrdiff_t n_components, ptrdiff_t n_blocks, REAL base,         \
        const REAL *fixed, REAL *background, const int *words, ptrdiff_t first, ptrdiff_t last, REAL *blocks)          \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, split_packed_blocks, REAL, packed, n_components, n_blocks, base, fixed, background,    \
                           words, first, last, blocks);                                                                \
    }                                                                                                                  \
    static int64_t sparsemix_split_sparse_rows_##REAL(                                                                 \
        int isa, const sparsemix_split_settings *settings, const int64_t *starts, const int *entries,                  \
        const sparsemix_split_record *records, REAL *shares, const REAL *weights, const REAL *table,                   \
        const sparsemix_counts_##REAL *packed, const REAL *fixed, const REAL *blocks, const int *words,                \
        ptrdiff_t first, ptrdiff_t last, int n_even, REAL *row, uint64_t *touched, int64_t *lengths, int *topics,      \
        REAL *values, REAL factor, REAL smallest, double *gains)                                                       \
    {                                                                                                                  \
        int64_t n = 0;                                                                                                 \
        split_##REAL d;                                                                                                \
        memset(&d, 0, sizeof d);                                                                                       \
        d.s = settings;                                                                                                \
        d.table = table;                                                                                               \
        d.packed = *packed;                                                                                            \
        d.fixed = fixed;                                                                                               \
        d.blocks = blocks;                                                                                             \
        d.shares = shares;                                                                                             \
        d.key = sparsemix_document_key(settings->seed, -1, settings->visit);                                           \
        SPARSEMIX_DISPATCH(isa, split_sparse_rows, REAL, &d, starts, entries, records, weights, words, first, last,    \
                           n_even, row, touched, lengths, topics, values, factor, smallest, gains, &n);                \
        return n;                                                                                                      \
    }                                                                                                                  \
    static void sparsemix_split_rows_##REAL(                                                                           \
        int isa, const int64_t *starts, const int *entries, const sparsemix_split_record *records, const REAL *shares, \
        const REAL *weights, const REAL *table, REAL base, const REAL *fixed, sparsemix_split_groups groups,           \
        ptrdiff_t n_components, const int *words, ptrdiff_t first, ptrdiff_t last, REAL *row, REAL *out, double *totals)\
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, split_rows, REAL, starts, entries, records, shares, weights, table, base, fixed, groups,\
                           n_components, words, first, last, row, out, totals);                                        \
    }                                                                                                                  \
    static void sparsemix_split_add_rows_##REAL(                                                                       \
        int isa, const int64_t *starts, const int *entries, const sparsemix_split_record *records, const REAL *shares, \
        const REAL *weights, REAL *table, REAL base, const REAL *fixed, sparsemix_split_groups groups,                 \
        ptrdiff_t n_components, const int *words, ptrdiff_t first, ptrdiff_t last, REAL factor, REAL *row, REAL *part, \
        double *totals)                                                                                                \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, split_add_rows, REAL, starts, entries, records, shares, weights, table, base, fixed,   \
                           groups, n_components, words, first, last, factor, row, part, totals);                       \
    }

SPARSEMIX_SPLIT(float)
SPARSEMIX_SPLIT(double)

#define sparsemix_split_blocks(a0, pointer, ...)                                                                       \
    SPARSEMIX_BY_REAL(sparsemix_split_blocks, pointer)(a0, pointer, __VA_ARGS__)

#define sparsemix_split_documents(a0, a1, a2, a3, a4, pointer, ...)                                                    \
    SPARSEMIX_BY_REAL(sparsemix_split_documents, pointer)(a0, a1, a2, a3, a4, pointer, __VA_ARGS__)

#define sparsemix_split_packed_blocks(a0, a1, a2, a3, a4, pointer, ...)                                                \
    SPARSEMIX_BY_REAL(sparsemix_split_packed_blocks, pointer)(a0, a1, a2, a3, a4, pointer, __VA_ARGS__)

#define sparsemix_split_rows(a0, a1, a2, a3, pointer, ...)                                                             \
    SPARSEMIX_BY_REAL(sparsemix_split_rows, pointer)(a0, a1, a2, a3, pointer, __VA_ARGS__)

#define sparsemix_split_add_rows(a0, a1, a2, a3, pointer, ...)                                                         \
    SPARSEMIX_BY_REAL(sparsemix_split_add_rows, pointer)(a0, a1, a2, a3, pointer, __VA_ARGS__)

#define sparsemix_split_sparse_rows(a0, a1, a2, a3, a4, pointer, ...)                                                  \
    SPARSEMIX_BY_REAL(sparsemix_split_sparse_rows, pointer)(a0, a1, a2, a3, a4, pointer, __VA_ARGS__)

#endif
