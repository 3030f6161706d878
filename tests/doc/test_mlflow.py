"""The page on MLflow: its code runs, and what it says of MLflow is so; .ci/tools installs it."""

import numpy as np
import pytest
from example_pages import run_page
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sparsemix import SparseGaussianMixture, SparseSCVB0LDA

mlflow = pytest.importorskip("mlflow")
skops_io = pytest.importorskip("skops.io")
pytestmark = pytest.mark.filterwarnings("default")  # what MLflow imports warns
X = np.random.default_rng(0).normal(size=(60, 2))
TEXTS = ["apples and pears", "ships and sails"] * 10


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """MLflow writes its database and models to the working folder; to create the database takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("runs"))
        mlflow.set_tracking_uri("sqlite:///mlflow.db")
        yield
        mlflow.sklearn.autolog(disable=True)


@pytest.fixture(autouse=True)
def autolog():
    mlflow.sklearn.autolog(log_models=False, disable=False)


def mixture():
    return SparseGaussianMixture(2, max_iter=2, tol=0, random_state=0)


def logged(function):
    """What a run has after a call."""
    with mlflow.start_run() as run:
        function()
    return mlflow.get_run(run.info.run_id)


def saved(model, trusted=None, **options):
    names = skops_io.get_untrusted_types(data=skops_io.dumps(model)) if trusted is None else trusted
    with mlflow.start_run():
        return mlflow.sklearn.log_model(
            model, name="model", skops_trusted_types=names, pip_requirements=["sparsemix"], **options
        ).model_uri


def test_the_page_runs():
    names = run_page("user_guide/mlflow.rst", {})
    pipeline, wines, run = (names[name] for name in ("pipeline", "wines", "run"))
    data = mlflow.get_run(run.info.run_id).data
    assert data.params["sparsegaussianmixture__n_components"] == "3"
    (score,) = (value for name, value in data.metrics.items() if name.startswith("Pipeline_score"))
    assert score == pytest.approx(pipeline.score(wines[1::2]))
    assert data.metrics["lower_bound"] == pipeline[-1].history_[-1]["lower_bound"]
    np.testing.assert_array_equal(names["clusters"], pipeline.predict(wines))
    loaded = mlflow.sklearn.load_model(names["saved"].model_uri)
    np.testing.assert_array_equal(loaded.predict_proba(wines), pipeline.predict_proba(wines))


def test_estimators_alone_and_streams_are_not_logged():
    for function in (mixture().fit, mixture().partial_fit):
        data = logged(lambda function=function: function(X)).data
        assert (data.params, data.metrics) == ({}, {})


def test_parameters_can_be_logged_by_hand():
    data = logged(lambda: mlflow.log_params(mixture().get_params())).data
    assert data.params["n_components"] == "2"


def test_models_need_names_of_classes_and_not_classes():
    fitted = mixture().fit(X)
    with pytest.raises(mlflow.MlflowException, match="untrusted types"):
        saved(fitted, trusted=[])
    with pytest.raises(Exception, match="cannot represent an object"):
        saved(fitted, trusted=[SparseGaussianMixture])
    saved(fitted, trusted=[], serialization_format="cloudpickle")


def test_autologging_saves_by_cloudpickle_and_not_by_skops():
    mlflow.sklearn.autolog(log_models=True)
    assert mlflow.sklearn.load_model(model_of(make_pipeline(mixture()))).predict(X).shape == (60,)
    mlflow.sklearn.autolog(log_models=True, serialization_format="skops")
    with pytest.raises(mlflow.MlflowException):
        mlflow.sklearn.load_model(model_of(make_pipeline(mixture())))


def model_of(pipeline):
    (model,) = logged(lambda: pipeline.fit(X)).outputs.model_outputs
    return f"models:/{model.model_id}"


def test_topic_models_cannot_be_served():
    pipeline = make_pipeline(CountVectorizer(), SparseSCVB0LDA(2, max_iter=2, random_state=0)).fit(TEXTS)
    uri = saved(pipeline)
    with pytest.raises(mlflow.MlflowException, match="python_function"):
        mlflow.pyfunc.load_model(uri)
    np.testing.assert_array_equal(mlflow.sklearn.load_model(uri).transform(TEXTS), pipeline.transform(TEXTS))


def test_mixtures_serve_probabilities_but_no_features_and_no_scores():
    fitted = mixture().fit(X)
    served = mlflow.pyfunc.load_model(saved(fitted, pyfunc_predict_fn="predict_proba"))
    np.testing.assert_array_equal(served.predict(X), fitted.predict_proba(X))
    for name in ("transform", "score_samples"):
        uri = saved(fitted, pyfunc_predict_fn=name)
        with pytest.raises(mlflow.MlflowException, match=f"missing required {name}"):
            mlflow.pyfunc.load_model(uri)
