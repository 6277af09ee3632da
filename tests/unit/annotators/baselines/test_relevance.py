import numpy as np
import pytest

from annotators.baselines import relevance
from annotators.baselines.proteins import SHIPPED_NAMES, read_proteins
from annotators.baselines.relevance import FEATURES, Model, annotate, train
from annotators.errors import BadInputError
from annotators.matching import Dictionary

TEXTS = {
    "1": "A complex\nThe proteins interact directly.",
    "2": "Binding\nA direct interaction of the two proteins.",
    "3": "A trial\nPatients received the drug.",
    "4": "Survival\nPatients lived longer.",
}
KNOWN = Dictionary(read_proteins(SHIPPED_NAMES))
GOLD = {"1": True, "2": True, "3": False, "4": False}


@pytest.fixture(scope="module")
def model():
    return train(GOLD, TEXTS, SHIPPED_NAMES)


@pytest.mark.slow
def test_a_model_separates_what_it_was_trained_on(model):
    found = {article: model.probability(KNOWN, text) > 0.5 for article, text in TEXTS.items()}
    assert found == GOLD


def test_a_saved_model_gives_the_same_probabilities(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    found = [loaded.probability(KNOWN, text) for text in TEXTS.values()]
    assert found == [model.probability(KNOWN, text) for text in TEXTS.values()]


def test_a_model_that_cannot_be_written_leaves_nothing(model, tmp_path):
    (tmp_path / "model").mkdir()
    with pytest.raises(BadInputError, match="model: cannot be written"):
        model.save(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_confidence_is_the_surer_side(model):
    relevant, confidence = annotate(model, KNOWN, TEXTS["3"])["interaction"]
    assert not relevant
    assert confidence == pytest.approx(1 - model.probability(KNOWN, TEXTS["3"]))


def test_an_article_without_words_is_answered(model):
    assert 0 < model.probability(KNOWN, "") < 1


def test_a_model_with_pickled_objects_is_refused(tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, format=2, idf=np.array([{}], dtype=object), weights=0, intercept=0)
    with pytest.raises(BadInputError, match="not a model"):
        Model.load(path)


@pytest.mark.parametrize(
    ("format_", "buckets", "expected"),
    [(1, FEATURES, "of format 1; expected 2"), (2, 7, "of other features")],
)
def test_a_model_of_another_form_is_refused(tmp_path, format_, buckets, expected):
    path = tmp_path / "model.npz"
    row = np.zeros(buckets, dtype=np.float32)
    np.savez(path, format=format_, idf=row, weights=row, counts=row[:4], intercept=0, names="")
    with pytest.raises(BadInputError, match=expected):
        Model.load(path)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1j, "1", 1])
def test_a_model_has_finite_numbers(model, tmp_path, value):
    path = tmp_path / "model.npz"
    rows = {"idf": model.idf, "weights": np.full(FEATURES, value), "counts": model.counts}
    np.savez_compressed(path, format=2, intercept=0.5, names="", **rows)
    with pytest.raises(BadInputError, match="other values than finite numbers"):
        Model.load(path)


def test_a_model_is_unpacked_only_if_it_is_of_a_models_size(tmp_path):
    path = tmp_path / "model.npz"
    np.savez_compressed(path, format=2, idf=np.zeros(2**22, dtype=np.float64))  # 32 MiB in 33 kB
    with pytest.raises(BadInputError, match="too large for a model"):
        Model.load(path)


def test_a_model_goes_with_the_names_that_it_was_trained_with(model, tmp_path):
    model.require_names(SHIPPED_NAMES)
    other = tmp_path / "names.tsv"
    other.write_text("Entry\tProtein names\tGene names\n")
    with pytest.raises(BadInputError, match="not the names that the model was trained with"):
        model.require_names(other)


def test_which_protein_it_is_makes_no_difference(model):
    first, second = (f"{name} binds BRCA1\n{name} interacts with it." for name in ("MDM2", "EGFR"))
    assert model.probability(KNOWN, first) == model.probability(KNOWN, second)


@pytest.mark.slow
def test_the_threshold_is_chosen_on_many_articles(monkeypatch):
    monkeypatch.setattr(relevance, "MIN_FOR_THRESHOLD", 20)
    texts = {f"{copy}{name}": text for copy in range(10) for name, text in TEXTS.items()}
    gold = {article: GOLD[article[-1]] for article in texts}
    model = train(gold, texts, SHIPPED_NAMES)
    assert {name: model.probability(KNOWN, text) > 0.5 for name, text in TEXTS.items()} == GOLD


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 torn"])
def test_any_other_file_is_no_model(tmp_path, content):
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(BadInputError, match="model: not a model"):
        Model.load(path)
