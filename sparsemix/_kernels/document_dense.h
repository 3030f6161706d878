/* Dense inference of a document ([HS16] Algorithm 3), included by document_steps.h: no include guard. */

/* Dense documents: full updates before the first of large topics alone, the share of the tokens below which a topic
 * stands still between full updates, and the most updates between them. */
#define FULL_ITER 3
#define STANDS_STILL 1e-4
#define LARGE_ITER 50

/* Iterations of the topics that have some mass, while all others stand still as one more row of the block: what they
 * give to Z. A full update must follow, and judges convergence. */
TARGET static void SPARSEMIX_NAME(iterate_large)(DOCUMENT *d)
{
    const REAL *block = d->block;
    const int n_all = (int)d->n_topics;
    REAL *rest = d->kept, *now = d->now, *p = d->p;
    ptrdiff_t a, u, n = 0;
    int i;
    SPARSEMIX_NAME(expect)(d, now);
    memset(rest, 0, d->width * sizeof(REAL));
    for (a = 0; a < n_all; a++)
        if (now[a] > (REAL)STANDS_STILL * d->length) {
            d->local[n] = (int)a;
            n++;
            memcpy(d->kept + n * d->width, block + a * d->width, d->width * sizeof(REAL));
        } else
            for (u = 0; u < d->width; u += LANES)
                *(VECTOR *)(rest + u) += *(const VECTOR *)(block + a * d->width + u) * p[a];
    if (2 * n < n_all) {
        d->n_topics = n;
        for (a = 0; a < n; a++)
            d->next[a] = now[d->local[a]];
        for (i = 0; i < LARGE_ITER; i++) {
            REAL change = 0;
            for (a = 0; a < n; a++)
                d->x[a] = d->prior[d->local[a]] + d->next[a];
            for (; a % SPARSEMIX_PADDING; a++)
                d->x[a] = 1;
            if (d->s.linear)
                memcpy(p + 1, d->x, n * sizeof(REAL));
            else {
                SPARSEMIX_NAME(exp_digamma)(d->x, n, d->x);
                memcpy(p + 1, d->x, n * sizeof(REAL));
            }
            p[0] = 1; /* the row of the others has their p already */
            SPARSEMIX_NAME(update)(d->kept, d->width, n + 1, d->counts, p, d->scale, d->partial, d->x);
            for (a = 0; a < n; a++) {
                const REAL move = d->x[a + 1] > d->next[a] ? d->x[a + 1] - d->next[a] : d->next[a] - d->x[a + 1];
                change = move > change ? move : change;
                d->next[a] = d->x[a + 1];
            }
            if (change < d->s.tol)
                break;
        }
        for (a = 0; a < n; a++)
            now[d->local[a]] = d->next[a];
        d->n_topics = n_all;
    }
    for (a = 0; a < n; a++)
        d->local[a] = -1;
}

/* Dense inference over all topics: full updates, and between them those of the topics with some mass alone. */
TARGET static void SPARSEMIX_NAME(dense_document)(DOCUMENT *d)
{
    ptrdiff_t a;
    int i;
    d->n_iter = d->n_proposed = d->n_accepted = 0;
    d->n_topics = d->s.n_components;
    for (a = 0; a < d->n_topics; a++) {
        d->topics[a] = (int)a;
        d->prior[a] = d->alpha[a];
        d->now[a] = d->s.warm ? d->doc_topic[a] : 0;
        d->p[a] = 1;
    }
    SPARSEMIX_NAME(gather)(d->table, d->s.n_components, d->types, d->n_types, d->width, d->topics, d->n_topics, d->block);
    d->resp = d->block;
    if (!d->s.warm)
        SPARSEMIX_NAME(refresh)(d, d->now);
    for (i = 1; i <= d->s.max_iter; i++) {
        SPARSEMIX_NAME(expect)(d, d->now);
        SPARSEMIX_NAME(refresh)(d, d->next);
        d->n_iter++;
        if (SPARSEMIX_NAME(change)(d) < d->s.tol) {
            SPARSEMIX_NAME(swap)(d);
            break;
        }
        SPARSEMIX_NAME(swap)(d);
        if (d->s.screen && i > FULL_ITER)
            SPARSEMIX_NAME(iterate_large)(d);
    }
    if (d->s.n_restarts > 0)
        SPARSEMIX_NAME(restart)(d);
    SPARSEMIX_NAME(finish)(d);
}

#undef FULL_ITER
#undef STANDS_STILL
#undef LARGE_ITER
