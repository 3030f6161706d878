/* Dense inference of a document ([HS16] Algorithm 3), included by document_steps.h: no include guard. */

/* Dense documents: full updates before the first of large topics alone, the share of the tokens below which a topic
 * stands still between full updates, the most pairs of updates between them, and how far they are extrapolated. */
#define FULL_ITER 2
#define STANDS_STILL 1e-4
#define LARGE_ITER 10
#define LARGEST_STEP 32.0

/* One update of the first ``n`` rows of ``kept`` and of the row of all others, from N_dk ``from`` to ``to``; returns the
 * largest change. */
TARGET static REAL SPARSEMIX_NAME(update_large)(DOCUMENT *d, ptrdiff_t n, const REAL *from, REAL *to)
{
    REAL change = 0;
    ptrdiff_t a;
    for (a = 0; a < n; a++)
        d->x[a] = d->prior[d->local[a]] + from[a];
    for (; a % SPARSEMIX_PADDING; a++)
        d->x[a] = 1;
    if (!d->s.linear)
        SPARSEMIX_NAME(exp_digamma)(d->x, n, d->x);
    memcpy(d->p, d->x, n * sizeof(REAL));
    d->p[n] = 1; /* the row of the others has their p already */
    SPARSEMIX_NAME(update)(d->kept, d->width, n + 1, d->counts, d->p, d->scale, d->partial, d->x);
    for (a = 0; a < n; a++) {
        const REAL move = d->x[a] > from[a] ? d->x[a] - from[a] : from[a] - d->x[a];
        change = move > change ? move : change;
        to[a] = d->x[a];
    }
    return change;
}

/* The fixed point that two updates n0, n1, n2 point to, into n0 (Varadhan & Roland 2008, scheme S3): the iteration
 * converges linearly and slowly, this much faster. */
TARGET static void SPARSEMIX_NAME(extrapolate)(ptrdiff_t n, REAL *n0, const REAL *n1, const REAL *n2)
{
    double moved = 0.0, bent = 0.0, step;
    ptrdiff_t a;
    for (a = 0; a < n; a++) {
        const double r = (double)n1[a] - n0[a], v = (double)n2[a] - n1[a] - r;
        moved += r * r;
        bent += v * v;
    }
    step = bent > 0.0 ? sqrt(moved / bent) : 1.0;
    step = step < 1.0 ? 1.0 : step > LARGEST_STEP ? LARGEST_STEP : step;
    for (a = 0; a < n; a++) {
        const double r = (double)n1[a] - n0[a], v = (double)n2[a] - n1[a] - r;
        const double ahead = n0[a] + 2.0 * step * r + step * step * v;
        n0[a] = (REAL)(ahead > 0.1 * n2[a] ? ahead : 0.1 * n2[a]);
    }
}

/* Iterations of the topics that have some mass, while all others stand still as one more row of the block: what they
 * give to Z. A full update must follow, and judges convergence. */
TARGET static void SPARSEMIX_NAME(iterate_large)(DOCUMENT *d)
{
    const ptrdiff_t n_all = d->n_topics;
    ptrdiff_t a, u, n = 0;
    REAL *rest;
    int i;
    for (a = 0; a < n_all; a++)
        if (d->now[a] > (REAL)STANDS_STILL * d->length)
            d->local[n++] = (int)a;
    if (2 * n < n_all) {
        SPARSEMIX_NAME(expect)(d, d->now);
        for (a = 0; a < n; a++) {
            memcpy(d->kept + a * d->width, d->block + d->local[a] * d->width, d->width * sizeof(REAL));
            d->next[a] = d->now[d->local[a]];
            d->p[d->local[a]] = 0;
        }
        rest = d->kept + n * d->width;
        memset(rest, 0, d->width * sizeof(REAL));
        for (a = 0; a < n_all; a++)
            if (d->p[a] > 0)
                for (u = 0; u < d->width; u += LANES)
                    *(VECTOR *)(rest + u) += *(const VECTOR *)(d->block + a * d->width + u) * d->p[a];
        for (i = 0; i < LARGE_ITER; i++) {
            if (SPARSEMIX_NAME(update_large)(d, n, d->next, d->first) < d->s.tol)
                break;
            SPARSEMIX_NAME(update_large)(d, n, d->first, d->second);
            SPARSEMIX_NAME(extrapolate)(n, d->next, d->first, d->second);
        }
        for (a = 0; a < n; a++)
            d->now[d->local[a]] = d->next[a];
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
#undef LARGEST_STEP
