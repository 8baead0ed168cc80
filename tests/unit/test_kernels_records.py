"""Records: against a pipeline of scikit-learn, missing values, frames, errors that name row and field."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import normalized_mutual_info_score

import apnc
from apnc.kernels import Category, Date, KernelChoice, Number, Record, Text, kernel_spelled, normalized
from apnc.sources import SourceError
from benchmarks.objects.generated import FIELDS, mixed_records

KERNEL = Record(FIELDS)
ROWS, GROUPS = mixed_records(400, seed=3)
SPELLED = "record(age=number, income=number, plan=category, note=text, joined=date)"


def learned(kernel, rows, weights=None):
    """The kernel after it has learned from these records."""
    read = kernel.read(rows)
    return kernel.tuned(read, np.ones(len(read)) if weights is None else weights)


def by_hand(rows):
    """Features of all records as columns, with the tools of scikit-learn; missing values are zeros."""
    columns = []
    for name in ("age", "income", "joined"):
        values = [row.get(name) for row in rows]
        if name == "joined":
            values = [None if day is None else datetime.date.fromisoformat(day).toordinal() for day in values]
        numbers = np.array([np.nan if value is None else value for value in values], dtype=float)
        columns.append(np.nan_to_num((numbers - np.nanmean(numbers)) / np.nanstd(numbers))[:, None])
    plans = sorted({row.get("plan") for row in rows} - {None})
    columns.append(np.array([[row.get("plan") == plan for plan in plans] for row in rows], dtype=float))
    there = [i for i, row in enumerate(rows) if row.get("note")]
    words = TfidfVectorizer(token_pattern=r"[^\W_]+").fit_transform([rows[i]["note"] for i in there])
    texts = np.zeros((len(rows), words.shape[1]))
    texts[there] = words.toarray()
    return np.hstack([*columns, texts])


def test_equals_one_hot_scaling_and_tf_idf():
    X, kernel = by_hand(ROWS), learned(KERNEL, ROWS)
    np.testing.assert_allclose(kernel(ROWS[:50], ROWS), X[:50] @ X.T, atol=1e-10)
    np.testing.assert_allclose(kernel.diagonal(kernel.read(ROWS)), (X**2).sum(axis=1), atol=1e-10)


def test_words_are_letters_and_digits_in_lower_case():
    kernel = learned(Record({"t": Text()}), [{"t": "Straße, 7b! 中文 x_y"}, {"t": "other"}])
    same, parts = (
        kernel(
            [{"t": "STRASSE"}, {"t": "straße 7B ... 中文 X y"}, {"t": "?!"}], [{"t": "Straße, 7b! 中文 x_y"}]
        ),
        1.0,
    )
    np.testing.assert_allclose(same[:, 0], [0.0, parts, 0.0], atol=1e-12)


def test_a_weight_multiplies_the_similarity_of_a_field():
    plain = [learned(Record({name: kind}), ROWS)(ROWS[:20], ROWS) for name, kind in FIELDS.items()]
    weighted = Record({**FIELDS, "note": Text(weight=3.0), "age": Number(0.5)})
    expected = sum(factor * K for factor, K in zip([0.5, 1, 1, 3, 1], plain, strict=True))
    np.testing.assert_allclose(learned(weighted, ROWS)(ROWS[:20], ROWS), expected, atol=1e-10)


def test_weights_of_rows_count_as_repeated_rows():
    repeated = [row for i, row in enumerate(ROWS[:30]) for _ in range(1 + i % 3)]
    fields = {"age": Number(), "joined": Date()}
    one = learned(Record(fields), ROWS[:30], 1.0 + np.arange(30) % 3)
    two = learned(Record(fields), repeated)
    np.testing.assert_allclose(one(ROWS, ROWS), two(ROWS, ROWS), atol=1e-9)


@pytest.mark.parametrize(
    "missing", [None, float("nan"), "", np.datetime64("NaT"), "pandas.NaT", "pandas.NA", "absent"]
)
def test_missing_values_contribute_nothing(missing):
    if isinstance(missing, str) and missing.startswith("pandas."):
        missing = getattr(pytest.importorskip("pandas"), missing.removeprefix("pandas."))
    kernel, whole = (
        learned(KERNEL, ROWS),
        {"age": 30, "income": 2e4, "plan": "plus", "note": "own3", "joined": "2020-01-01"},
    )
    for name in FIELDS:
        row = {key: value for key, value in whole.items() if key != name}
        row |= {} if isinstance(missing, str) and missing == "absent" else {name: missing}
        rest = learned(Record({key: kind for key, kind in FIELDS.items() if key != name}), ROWS)
        np.testing.assert_allclose(kernel([row], ROWS), rest([row], ROWS), atol=1e-12)
    nothing = dict.fromkeys(FIELDS, missing if not isinstance(missing, str) else None)
    assert not kernel([nothing, {}], ROWS).any()


@pytest.mark.parametrize(
    ("kind", "value", "form"),
    [
        (Number(), 3, 3.0), (Number(), True, 1.0), (Number(), np.float32(0.5), 0.5), (Number(), Decimal("1.5"), 1.5),
        (Category(), "a", "a"), (Category(), 1.0, "1"), (Category(), "1.0", "1"), (Category(), "01", "01"),
        (Category(), "1.10", "1.10"),
        (Category(), np.int64(4), "4"), (Category(), np.True_, "true"), (Category(), "True", "true"),
        (Category(), 0.5, "0.5"), (Category(), Decimal("2.0"), "2"), (Text(), np.str_("ab"), "ab"),
        (Date(), "2024-03-01", "2024-03-01"), (Date(), "2024-03-01T00:00:00", "2024-03-01"),
        (Date(), "2024-03-01T12:30:00+02:00", "2024-03-01T10:30:00"),
        (Date(), "20240301T103000Z", "2024-03-01T10:30:00"),
        (Date(), datetime.date(2024, 3, 1), "2024-03-01"),
        (Date(), datetime.datetime(2024, 3, 1, 1), "2024-03-01T01:00:00"),
        (Date(), np.datetime64("2024-03-01"), "2024-03-01"),
        (Date(), np.datetime64("2024-03-01T01", "ns"), "2024-03-01T01:00:00"),
    ],
)  # fmt: skip
def test_values_are_read_into_plain_forms(kind, value, form):
    found = kind.read(value)
    assert (found, type(found)) == (form, type(form))
    assert kind.read(found) == found


values = st.fixed_dictionaries(
    {},
    optional={
        "age": st.none() | st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6),
        "plan": st.none() | st.text(max_size=5) | st.integers() | st.booleans(),
        "note": st.none() | st.text(max_size=30),
        "joined": st.none() | st.dates() | st.datetimes(),
        "other": st.integers(),
    },
)


@given(st.lists(values, min_size=1, max_size=12), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_any_records(rows, size):
    base = [
        {"age": 1, "plan": "a", "note": "x y", "joined": "2020-01-01"},
        {"age": 2, "note": "y z", "joined": "2021-01-01"},
    ]
    kernel = learned(Record({name: kind for name, kind in FIELDS.items() if name != "income"}), base + rows)
    read = kernel.read(rows)
    assert kernel.read(read) == read
    assert json.loads(json.dumps(read)) == read
    K = kernel(rows, rows)
    np.testing.assert_allclose(K, K.T, atol=1e-9 * max(1.0, abs(K).max()))
    assert np.linalg.eigvalsh(K).min() >= -1e-8 * max(1.0, abs(K).max())
    np.testing.assert_allclose(K.diagonal(), kernel.diagonal(read), atol=1e-9 * max(1.0, abs(K).max()))
    pieces = [kernel(rows[i : i + size], rows) for i in range(0, len(rows), size)]
    np.testing.assert_array_equal(np.vstack(pieces), K)


def test_descriptions():
    assert kernel_spelled(SPELLED) == KERNEL
    assert kernel_spelled(repr(KERNEL)) == KERNEL
    odd = Record({"monthly income": Number(weight=2.0), "fields": Category()})
    assert kernel_spelled("record({'monthly income': number(weight=2)}, fields=category)") == odd
    assert kernel_spelled(repr(odd)) == odd
    assert kernel_spelled(f"{SPELLED}.rbf()") == KERNEL.rbf()
    assert kernel_spelled(f"normalized({SPELLED})") == normalized(KERNEL)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("record", "a record needs fields"), ("record()", "a record needs fields"),
        ("record(age=3)", "field 'age' is 3"),
        ("record(age=numbr)", "'numbr' is unknown"),
        ("record(age=number(weight=0))", "weight=0 must be a positive number"),
        ("record(number)", r"Number\(\) is not a named field"), ("number", "is not a kernel"),
        ("record({1: number})", "must be named by text"),
    ],
)  # fmt: skip
def test_bad_descriptions(text, reason):
    with pytest.raises(ValueError, match=reason):
        kernel_spelled(text)


BAD = [
    ({"age": "41"}, "X, row 2: the field 'age': found str '41', expected a number. A field of text is a Category"),
    ({"age": float("inf")}, "X, row 2: the field 'age': found float inf, which is infinite"),
    ({"age": 10**400}, "X, row 2: the field 'age': found int 1000"),
    ({"age": [1]}, r"X, row 2: the field 'age': found list \[1\], expected a number"),
    ({"plan": ["a"]}, r"X, row 2: the field 'plan': found list \['a'\], expected text, a number, true or false"),
    ({"plan": datetime.date(2020, 1, 1)}, "X, row 2: the field 'plan': found date .* A date is a Date"),
    ({"note": 3}, "X, row 2: the field 'note': found int 3, expected text"),
    ({"joined": "31.12.2020"}, "X, row 2: the field 'joined': found str '31.12.2020', expected a date such as"),
    ({"joined": " "}, "X, row 2: the field 'joined': found str ' ', expected a date"),
    ({"joined": 1.7e9}, "X, row 2: the field 'joined': found float .* For numbers of days or seconds use Number"),
    ("age", "X, row 2: found str 'age', expected a dict with the fields age, income, plan, note, joined"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "reason"), BAD, ids=lambda case: str(case)[:30])
def test_errors_name_row_and_field(row, reason):
    with pytest.raises(SourceError, match=f"^{reason}"):
        apnc.KernelKMeans(2, kernel=KERNEL).fit([*ROWS[:2], row])


def test_a_field_that_no_row_has():
    kernel = Record({"agee": Number(), "plan": Category()})
    with pytest.raises(
        ValueError, match=r"No row of the sample has a value in the field 'agee'.* they have plan"
    ):
        apnc.KernelKMeans(2, kernel=kernel).fit(ROWS)
    with pytest.raises(ValueError, match="The field 'x': its values are too large to standardise"):
        apnc.KernelKMeans(2, kernel=Record({"x": Number()})).fit([{"x": 1e308}, {"x": -1e308}, {"x": 3.0}])
    with pytest.raises(ValueError, match="has learned nothing from data yet"):
        KERNEL(ROWS, ROWS)


def test_shown():
    row = {"age": 41.0, "plan": "basic", "note": "a note\nof " + "words " * 20, "joined": "2020-01-01"}
    assert (
        KERNEL.shown(row)
        == "age=41, plan=basic, note=a note of words words words words wor..., joined=2020-01-01"
    )


TWO = Record({"age": Number()}) + 2.0 * Record({"note": Text()})


@pytest.mark.parametrize("kernel", [KERNEL, SPELLED, KERNEL.rbf(), normalized(KERNEL), TWO],
                         ids=lambda kernel: str(kernel)[:20])  # fmt: skip
@pytest.mark.parametrize("estimator", [apnc.KernelKMeans, apnc.SpectralClustering])
def test_clusters_of_records(kernel, estimator, tmp_path):
    km = estimator(5, kernel=kernel, n_landmarks=150, random_state=0).fit(ROWS)
    assert normalized_mutual_info_score(GROUPS, km.labels_) > 0.1
    loaded = apnc.load(km.save(tmp_path / "records.apnc"))
    np.testing.assert_array_equal(loaded.predict(ROWS), km.labels_)
    assert loaded.kernel == kernel
    assert kernel_spelled(repr(loaded._model.embedding.kernel.asked)) == loaded._model.embedding.kernel.asked
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    for n_jobs, data in ((1, ROWS), (2, path)):
        np.testing.assert_array_equal(clone(km).set_params(n_jobs=n_jobs).fit(data).labels_, km.labels_)


@pytest.mark.parametrize("library", ["pandas", "pandas, nullable", "polars"])
def test_frames_are_records(library):
    frame = frame_of(library)
    km = apnc.KernelKMeans(5, kernel=KERNEL, n_landmarks=100, random_state=0).fit(ROWS)
    again = clone(km).fit(frame)
    np.testing.assert_array_equal(again.labels_, km.labels_)
    np.testing.assert_array_equal(
        again.predict(frame[["joined", "note", "plan", "income", "age"]]), km.labels_
    )
    with pytest.raises(SourceError, match=r"there is no column 'agee'. Did you mean 'age'"):
        apnc.KernelKMeans(2, kernel=Record({"agee": Number()})).fit(frame)


def frame_of(library):
    """The records as a frame with the types that each library has for them, and a column that is no field."""
    columns = {name: [row.get(name) for row in ROWS] for name in FIELDS} | {"x": [1.0] * len(ROWS)}
    if library == "polars":
        pl = pytest.importorskip("polars")
        return pl.DataFrame(columns).with_columns(
            pl.col("joined").str.to_date(), pl.col("plan").cast(pl.Categorical)
        )
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(columns)
    frame["joined"] = pd.to_datetime(frame["joined"])
    if library == "pandas":
        return frame
    return frame.astype(
        {"age": "Int64", "income": "Float64", "plan": "category", "note": "string", "x": "boolean"}
    )


def test_as_good_as_the_pipeline():
    """The full comparison, 10 seeds of 2,000 records, is in the benchmark of kernels on objects."""
    from sklearn.cluster import KMeans

    rows, groups = mixed_records(800, seed=1)
    ours = apnc.KernelKMeans(5, kernel=KERNEL, random_state=0).fit(rows).labels_
    theirs = KMeans(5, n_init=10, random_state=0).fit_predict(by_hand(rows))
    one, two = (
        normalized_mutual_info_score(groups, labels, average_method="geometric") for labels in (ours, theirs)
    )
    assert one > two - 0.02


def test_what_was_learned_stays():
    """A certificate fits models of a sample, which must use the features of the model that it certifies."""
    kernel = Record({"age": Number()})
    rows = [{"age": float(value)} for value in range(10)]
    tuned = kernel.tuned(rows, np.ones(10))
    assert tuned.tuned(rows[:3], np.ones(3)).learned == tuned.learned
    assert KernelChoice(kernel).known(tuned).resolve(rows[:3], np.ones(3), 0).learned == tuned.learned
    assert tuned.rbf(1.0).tuned(rows[:3], np.ones(3)).kernel.learned == tuned.learned


def test_a_field_of_two_kinds_is_refused():
    with pytest.raises(ValueError, match="The field 'd' is a Date in one kernel and a Category in another"):
        Record({"d": Date()}) + Record({"d": Category()})


def test_the_fields_cannot_be_changed_from_outside():
    given = {"age": Number()}
    kernel = Record(given)
    given["plan"] = Category()
    assert list(kernel.fields) == ["age"]


def test_landmarks_that_are_no_records_are_refused():
    with pytest.raises(ValueError, match="expected a dict"):
        Record({"age": Number()}).check_landmarks(["abc"])


def test_odd_numbers_are_refused():
    for value in (1 + 2j, np.complex128(1), Decimal("sNaN")):
        with pytest.raises(ValueError, match="found"):
            Record({"age": Number()}).read([{"age": value}])
