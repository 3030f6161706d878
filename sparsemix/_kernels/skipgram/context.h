/* The context of a position: the words at most ``window`` places away in its document, on both sides. */
#ifndef SPARSEMIX_CONTEXT_H
#define SPARSEMIX_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

/* A context has at most 2 window words, one per place. */
typedef struct {
    int n;       /* words */
    int *word;   /* (2 window,) */
    int *before; /* (2 window,) how often the word occurs earlier in this list */
    int *times;  /* (2 window,) how often it occurs in the whole list */
} sparsemix_context;

/* The entries ``first`` to ``last`` of a document hold the context of entry e, and e itself; both increase with e. */
static inline void sparsemix_slide(const int *places, int64_t end, int64_t e, int window, int64_t *first,
                                   int64_t *last)
{
    while ((int64_t)places[e] - places[*first] > window)
        (*first)++;
    while (*last < end && (int64_t)places[*last] - places[e] <= window)
        (*last)++;
}

static inline void sparsemix_read_context(sparsemix_context *c, const int *words, int64_t e, int64_t first, int64_t last)
{
    c->n = 0;
    for (int64_t i = first; i < last; i++) {
        const int word = words[i];
        int before = 0;
        if (i == e)
            continue;
        for (int j = 0; j < c->n; j++)
            before += c->word[j] == word;
        c->word[c->n] = word;
        c->before[c->n] = before;
        c->times[c->n++] = before + 1;
        if (before)
            for (int j = 0; j < c->n; j++)
                if (c->word[j] == word)
                    c->times[j] = before + 1;
    }
}

#endif
