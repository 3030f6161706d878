"""Names of scikit-learn's LatentDirichletAllocation that these estimators lack, and what takes their place."""

from sparsemix._estimator.sklearn_names import ScikitLearnNames, missing

PARAMETERS = {
    "perp_tol": "SparseSCVB0LDA ends by early_stopping with evaluation_tol, SparseLDA and CollapsedLDA by tol",
    "evaluate_every": "its fit is judged after every pass and ends by tol; SparseSCVB0LDA has evaluate_every",
    "mean_change_tol": "give doc_update_tol of SparseLDA; the others make a given number of visits",
    "learning_method": 'it reads all documents in every sweep, as with "batch"; SparseLDA has learning_method="online"',
    "learning_decay": "its sweeps have no step size; SparseLDA and SparseSCVB0LDA have learning_decay",
    "learning_offset": "its sweeps have no step size; SparseLDA and SparseSCVB0LDA have learning_offset",
    "batch_size": "it sweeps over documents one after the other; SparseLDA and SparseSCVB0LDA have batch_size",
    "total_samples": "it has no partial_fit; SparseLDA and SparseSCVB0LDA have total_samples",
}
ATTRIBUTES = {
    "bound_": "scikit-learn's is the perplexity of the documents that were learned from; lower_bound_ of SparseLDA and "
    'of CollapsedLDA(method="cvb") is their bound in nats, and perplexity(X) of held-out documents compares all models',
    "n_batch_iter_": "n_iter_ counts passes over the documents, and n_steps_ calls of partial_fit",
    "random_state_": "give random_state a numpy.random.RandomState, which a fit draws its seed from, and keep that",
}


class LatentDirichletAllocationNames(ScikitLearnNames):
    """Refuses them with one sentence that has ours."""

    _elsewhere = PARAMETERS

    bound_ = missing("bound_", ATTRIBUTES["bound_"])
    n_batch_iter_ = missing("n_batch_iter_", ATTRIBUTES["n_batch_iter_"])
    random_state_ = missing("random_state_", ATTRIBUTES["random_state_"])
