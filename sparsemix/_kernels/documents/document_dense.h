/* Dense inference of a document, included by document_steps.h: no include guard. */

/* Dense inference over all topics ([HS16] Algorithm 2). */
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
    }
    if (d->s.n_restarts > 0)
        SPARSEMIX_NAME(restart)(d);
    SPARSEMIX_NAME(finish)(d);
}
