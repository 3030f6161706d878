/* Tokens leave the counts of their own topics, as collapsed Gibbs sampling requires; split_loops.h includes this file. No
 * include guard.
 *
 * The table still has a document's tokens from its last visit, at the topics of its samples. For the visit of a type, one
 * token less makes phi of these topics smaller, in the columns of their slots. The fixed part, which all documents share,
 * keeps the larger phi: its draws of such a topic are accepted with probability (smaller phi) / (larger phi), and what it
 * has too much, alpha times their difference, leaves the topic's expected count. */

/* Refusals of a draw before it is accepted all the same: with one topic there is nothing else to draw. */
#define MOST_REFUSALS 20

/* The topics of a type's samples at the last visit that have a slot. */
typedef struct {
    int n, topics[SPARSEMIX_MOST_SAMPLES];
    ptrdiff_t slots[SPARSEMIX_MOST_SAMPLES];
    REAL phi[SPARSEMIX_MOST_SAMPLES];     /* with the token */
    REAL kept[SPARSEMIX_MOST_SAMPLES];    /* phi without it, as a share of phi */
    REAL surplus[SPARSEMIX_MOST_SAMPLES]; /* what the fixed part has too much */
} SPARSEMIX_NAME(own_topics);

/* Set one number of a row by a store of a whole vector, see ``shift``. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(put)(REAL *row, ptrdiff_t slot, REAL value)
{
    static const REAL one[2 * SPARSEMIX_PADDING] = {[SPARSEMIX_PADDING] = 1};
    VECTOR *at = (VECTOR *)(row + slot / LANES * LANES);
    const VECTOR here = *(const SPARSEMIX_NAME(unaligned) *)(one + SPARSEMIX_PADDING - slot % LANES);
    *at = (FILL(1) - here) * *at + here * value;
}

/* List the topics, with the part of the token that each has in the table, in units of the table. */
TARGET static void SPARSEMIX_NAME(find_own)(const SPLIT *d, int64_t at, int n_samples, REAL token,
                                            SPARSEMIX_NAME(own_topics) *own, REAL *parts)
{
    int s, i;
    own->n = 0;
    for (s = 0; s < n_samples; s++) {
        const int topic = sparsemix_state(d->states, at + s);
        if (d->work->slot[topic] < 0) /* the document has left the topic */
            continue;
        for (i = 0; i < own->n && own->topics[i] != topic; i++)
            ;
        if (i == own->n) {
            own->topics[i] = topic;
            own->slots[i] = d->work->slot[topic];
            parts[i] = 0;
            own->n++;
        }
        parts[i] += token / (REAL)n_samples;
    }
}

/* Exclude a token from phi of its topics; returns the surplus of the fixed part. */
TARGET static REAL SPARSEMIX_NAME(exclude_own)(const SPLIT *d, REAL *row, int64_t at, int n_samples, REAL token,
                                               SPARSEMIX_NAME(own_topics) *own)
{
    const REAL base = (REAL)d->s->base, round_off = sizeof(REAL) == sizeof(float) ? (REAL)1e-5 : (REAL)1e-13;
    REAL parts[SPARSEMIX_MOST_SAMPLES], surplus = 0;
    int i;
    SPARSEMIX_NAME(find_own)(d, at, n_samples, token, own, parts);
    for (i = 0; i < own->n; i++) {
        const REAL inverse = d->inverse[own->topics[i]], phi = row[own->slots[i]];
        const REAL part = parts[i] * inverse, least = base * inverse;
        REAL less = phi - part > least ? phi - part : least;
        less /= 1 - (part < (REAL)0.5 ? part : (REAL)0.5); /* the topic's total has one token less, too */
        less = less < phi ? less : phi;
        own->phi[i] = phi;
        own->kept[i] = phi > 0 ? less / phi : 1;
        /* round-off must not take more than the fixed part has */
        own->surplus[i] = inverse > 0 ? (phi - less) * d->fixed[own->topics[i]] / inverse * (1 - round_off) : 0;
        surplus += own->surplus[i];
        SPARSEMIX_NAME(put)(row, own->slots[i], less);
    }
    return surplus;
}

/* Whether a topic drawn from the fixed part is accepted, for u uniform in [0, 1). */
TARGET static inline int SPARSEMIX_NAME(accepts)(const SPARSEMIX_NAME(own_topics) *own, int topic, double u)
{
    int i;
    for (i = 0; i < own->n; i++)
        if (own->topics[i] == topic)
            return u < own->kept[i];
    return 1;
}
