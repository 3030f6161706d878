"""Dates as people write them: the order of day and month is read from the column, and what is not read is told."""

import sys
import warnings
from datetime import UTC, date, datetime, timedelta, timezone
from email.utils import format_datetime

import numpy as np
import pytest

from sparsemix import SparseSCVB0LDA, report
from sparsemix.datasets import make_bars
from sparsemix.texts._report.bins import MARGIN, bins_of_dates
from sparsemix.texts._report.dates import read_dates

DAYS = [date(2019, 12, 25) + timedelta(days=9 * i) for i in range(60)]
FORMS = (
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%d %B %Y", "%b %d, %Y", "%Y%m%d", "%d/%m/%Y %H:%M",
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_dates_of_every_form_are_read_as_they_were_written(form):
    values = [day.strftime(form) for day in DAYS]
    assert read_dates(values).days == DAYS
    assert read_dates(values, form).days == DAYS


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y"])
def test_an_order_that_no_date_shows_is_not_guessed(form):
    """All days up to the 12th: both orders give dates. Equal numbers are read, and dots have one order."""
    days = [date(2020, month, day) for month in range(1, 13) for day in range(1, 13)]
    found = read_dates([day.strftime(form) for day in days])
    assert [day for day in found.days if day is not None] == [date(2020, n, n) for n in range(1, 13)]
    assert found.ambiguous
    assert read_dates([day.strftime(form) for day in days], form).days == days
    assert read_dates([day.strftime("%d.%m.%Y") for day in days]).days == days


def test_orders_that_contradict_each_other_read_only_what_is_certain():
    found = read_dates(["13/01/2020", "01/13/2020", "01/02/2020"])
    assert found.days == [date(2020, 1, 13), date(2020, 1, 13), None]
    assert found.ambiguous


def count_of(day, per_second):
    return per_second * int(datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp())


EARLY = [date(1901, 1, 1), date(1968, 3, 1), date(1971, 4, 1), date(1990, 1, 1), date(2099, 12, 31), *DAYS]
# Numbers of each unit, the days that they are, and numbers of other units and kinds.
COLUMNS = {
    "years": ([day.year for day in EARLY], [date(day.year, 1, 1) for day in EARLY], [20200131, count_of(DAYS[0], 1)]),
    "digits": ([int(day.strftime("%Y%m%d")) for day in EARLY], EARLY, [2020, 20201301, count_of(DAYS[0], 1000)]),
    **{
        f"{unit:,} a second": ([count_of(day, unit) for day in EARLY], EARLY, [2020, 20200131, *others])
        for unit in (1, 10**3, 10**6, 10**9)
        for others in [[count_of(DAYS[0], other) for other in (1, 10**3, 10**6, 10**9) if other != unit]]
    },
}


@pytest.mark.parametrize("convert", [int, str, float, np.float64, lambda number: f" {number}.0"])
@pytest.mark.parametrize("column", COLUMNS)
def test_numbers_of_a_column_have_one_unit(column, convert):
    """What has no date in it is missing, and no date of another unit."""
    numbers, days, others = COLUMNS[column]
    others = [*others, 0, -1, 5, 31.01, 44_000, 202_001, 12_345_678, -(10**30), 1e300]
    found = read_dates([*map(convert, numbers), *(str(other) for other in others), float("nan")])
    assert found.days == days + [None] * (len(others) + 1)
    assert found.unread == list(range(len(days), len(days) + len(others)))


def test_milliseconds_of_1971_are_no_seconds_of_2969():
    assert read_dates([31_536_000_000, "soon"]).days == [date(1971, 1, 1), None]


@pytest.mark.parametrize("write", [
    datetime.isoformat, format_datetime, lambda moment: moment.strftime("%a, %d %b %y %H:%M:%S GMT"),
    lambda moment: f"{moment.date()} 23:59 UTC", lambda moment: np.datetime64(moment.replace(tzinfo=None)),
    lambda moment: str(moment.replace(tzinfo=None)), lambda moment: moment,
])  # fmt: skip
def test_moments_have_the_date_that_is_written(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    zone = timezone(timedelta(hours=-5))
    moments = [datetime(day.year, day.month, day.day, 23, 30, tzinfo=zone) for day in DAYS]
    assert read_dates([write(moment) for moment in moments]).days == DAYS


def test_other_texts_with_the_name_of_a_month_need_pandas(monkeypatch):
    pytest.importorskip("pandas")
    texts = ["31. Jan. 2020", "31-Jan-2020", "31st January 2020 10:00 PM", "2020 Jan 31", "Jan 31, 2020"]
    assert read_dates(texts).days == [date(2020, 1, 31)] * 5
    assert read_dates(["a march in 2020", "May 5", "may", "30 February 2020"]).days == [None] * 4
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert read_dates([*texts[4:], "may", "soon", 2020]).days == [date(2020, 1, 31), None, None, date(2020, 1, 1)]
    with pytest.raises(ImportError, match=r"'31. Jan. 2020' needs pandas: pip install \"sparsemix\[texts\]\""):
        read_dates(texts)


@pytest.mark.parametrize("value", [
    "31.01", "5", "2020.5", "32.01.2020", "30/02/2020", "31.01.20", "99/99/2020", "x", 0, 44_000, 202_001, 737_425.0,
    "2020-02-30", "2020/02/30", "2020-13-01", "2020-13", "12:30", "inf", 1e300, [2020], True,
])  # fmt: skip
def test_what_is_no_date_is_unread_and_never_1970(value):
    found = read_dates([value, None, "", float("nan"), "2020-01-02"])
    assert found.days == [None, None, None, None, date(2020, 1, 2)]
    assert found.unread == [0]


@pytest.fixture(scope="module")
def fitted():
    X = make_bars(n_samples=30, random_state=0)[0]
    return SparseSCVB0LDA(3, max_iter=2, random_state=0).fit(X), X


def facts(page):
    return dict(page.data["facts"])


def test_the_report_names_the_first_rows_that_it_does_not_read(fitted):
    dates = ["2020-01-02", None, "soon", *["2020-01-03"] * 24, "later", "then", "never"]
    groups = ["a", None, "", *["b"] * 27]
    with pytest.warns(UserWarning, match=r"4 of 30 dates are not read \('soon' in row 2, 'later' in row 27, 'then' in"):
        page = report(*fitted, dates=dates, groups=groups)
    assert facts(page)["documents without a date"] == "5"
    assert facts(page)["documents without a group"] == "2"
    sizes = {stratum["label"]: sum(stratum["sizes"]) for stratum in page.data["strata"]}
    assert sorted(sizes.values()) == [25, 28]


def test_the_report_asks_for_the_order_of_day_and_month(fitted):
    with pytest.warns(UserWarning, match=r"29 of 30 dates .* order that no date shows; .*to_datetime\(dates, format="):
        report(*fitted, dates=["2020-02-01", *["01/02/2020"] * 29])


@pytest.mark.parametrize("values", [["soon"] * 30, [5] * 30, ["01/02/2020"] * 30, [None, "", *["later"] * 28]])
def test_dates_of_which_none_is_read_are_an_error(fitted, values):
    n = sum(map(bool, values))
    with pytest.raises(ValueError, match=rf"^dates has no date .* {n} of 30 .* in row .*give dates, years"):
        report(*fitted, dates=values)


@pytest.mark.parametrize("values", [[None] * 30, [""] * 30, [float("nan")] * 30])
def test_a_column_without_dates_is_allowed(fitted, values):
    assert facts(report(*fitted, dates=values))["documents without a date"] == "30"


def test_complete_dates_and_groups_say_nothing(fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = report(*fitted, dates=["31.01.2020"] * 30, groups=np.array(["a"] * 30))
    assert not [label for label in facts(page) if "without" in label]


RNG = np.random.default_rng(0)
# Dates of the bulk, wrong ones, and the most dates of the bulk that may be in no period.
BULKS = {
    "uniform in 3 years": (RNG.uniform(0, 1095, 990), 0),
    "uniform in 230 years": (RNG.uniform(-80_000, 4000, 249), 0),
    "growth over 10 years": ([1000 - age for age in RNG.exponential(500, 2000) if age < 3650], 0.01),
    "growth by the factor 4 a year": ([1000 - age for age in RNG.exponential(365 / np.log(4), 2000)], 0.01),
    "two decades with a gap": (np.append(RNG.uniform(-80_000, -76_000, 100), RNG.uniform(0, 3650, 100)), 0),
    "one day": ([0] * 50, 0),
}
WRONG = {
    "none": [], "one late": [date(9999, 12, 31)], "one early": [date(1, 1, 1)],
    "one at each end": [date(1, 1, 1), date(9999, 12, 31)], "two late": [date(9999, 12, 31)] * 2,
}  # fmt: skip


@pytest.mark.parametrize("bulk", BULKS)
@pytest.mark.parametrize("wrong", WRONG)
def test_periods_follow_the_bulk_of_the_dates(bulk, wrong):
    """Far dates are in no period; a third of the periods, or all but the margin, belong to the central 90 %."""
    numbers, lost = BULKS[bulk]
    days = [date(2015, 1, 1) + timedelta(days=int(n)) for n in numbers]
    far = WRONG[wrong] * max(1, len(days) // 25)  # up to 8 %
    codes, labels = bins_of_dates([*far, None, *days])
    assert codes[: len(far) + 1].tolist() == [-1] * (len(far) + 1)
    kept = codes[len(far) + 1 :]
    assert (kept < 0).mean() <= lost
    low, high = np.quantile(kept[kept >= 0], [0.05, 0.95], method="nearest")
    assert len(labels) <= max(3 * (high - low + 1), high - low + 1 + 2 * MARGIN)
    assert {kept[kept >= 0].min(), kept.max()} == {0, len(labels) - 1}


@pytest.mark.parametrize("day", [date(2002, 1, 1), date(2002, 7, 1)])
def test_one_wrong_year_among_dates_of_one_year(day):
    codes, labels = bins_of_dates([*[day] * 200, date(1970, 1, 1)])
    assert (labels, codes[-1]) == ([str(day)[: len(labels[0])]], -1)


def test_all_of_a_few_dates_have_periods():
    codes, labels = bins_of_dates([date(1000, 1, 1), date(2000, 5, 1)])
    assert (codes.tolist(), len(labels)) == ([0, 100], 101)


def test_dates_far_from_the_rest_are_counted_and_named(fitted):
    dates = [1000, 2999, *[2020 + i % 3 for i in range(26)], None, 2999]
    page = report(*fitted, dates=dates)
    (stratum,) = page.data["strata"]
    assert (stratum["bins"], sum(stratum["sizes"])) == (["2020", "2021", "2022"], 26)
    told = "3 (1000 of 0, 2999 of 1, 2999 of 29); they are in no period"
    assert facts(page)["dates far from the rest"] == told
    page = report(*fitted, dates=dates, names=[f"mail {i}" for i in range(30)])
    assert "1000 of mail 0, " in facts(page)["dates far from the rest"]


MIDNIGHTS = [datetime(1897, 1, 1), datetime(1898, 1, 1), None]
WRITTEN = {
    "numbers": ([1897, 1898, None], {"1897", "1898"}),
    "texts": (["1897", "1898", ""], {"1897", "1898"}),
    "floats": ([1897.0, 1898.0, float("nan")], {"1897", "1898"}),
    "moments of 1 January": (MIDNIGHTS, {"1897", "1898"}),
    "numpy's moments of 1 January": (np.array(MIDNIGHTS, dtype="datetime64[ns]"), {"1897", "1898"}),
    "dates of 1 January": ([date(1897, 1, 1), date(1898, 1, 1), None], {"1897", "1898"}),
    "other moments": ([datetime(1897, 1, 1), datetime(1898, 2, 1), None], {"1897-01-01", "1898-02-01"}),
    "years and a wrong date": ([*range(1890, 1919), "9999-12-31"], {*map(str, range(1890, 1919)), "9999-12-31"}),
    "counts": ([1_580_428_800, 1_580_515_200, None], {"2020-01-31", "2020-02-01"}),
    "other texts": (["31.01.2020", "1 February 2020", "soon"], {"2020-01-31", "2020-02-01", "soon"}),
}


@pytest.mark.parametrize("column", WRITTEN)
@pytest.mark.filterwarnings("ignore:10 of 30 dates are not read")
def test_a_year_stays_a_year_and_a_day_has_no_midnight(fitted, column):
    values, written = WRITTEN[column]
    page = report(*fitted, dates=[values[i % len(values)] for i in range(30)], n_documents=30)
    assert {text for document in page.data["documents"] for text in document["about"]} == written
    (stratum,) = page.data["strata"]
    assert {stratum["bins"][0], stratum["bins"][-1]} <= {text[:7] for text in written} | written


def test_series_of_pandas_are_read_by_position(fitted):
    pandas = pytest.importorskip("pandas")
    dates = pandas.Series(pandas.to_datetime(["2020-01-31"] * 29 + [None]), index=range(100, 130))
    page = report(*fitted, dates=dates, groups=pandas.Series([pandas.NA, *["a"] * 29], index=range(7, 37)))
    assert facts(page)["documents without a date"] == "1"
    assert facts(page)["documents without a group"] == "1"


@pytest.mark.parametrize("argument", ["dates", "groups", "names", "documents"])
def test_tables_and_wrong_numbers_of_values_are_refused(fitted, argument):
    for values, message in ((np.full((30, 2), "a"), r"has the shape \(30, 2\)"), (["a"] * 5, "has 5 entries but X")):
        with pytest.raises(ValueError, match=f"{argument} {message}"):
            report(*fitted, **{argument: values})


def test_the_plot_over_time_refuses_what_the_report_refuses(fitted):
    pytest.importorskip("matplotlib")
    from sparsemix.plotting import plot_topics_over_time

    for values in (np.full((30, 2), 2020), [2020] * 5):
        with pytest.raises(ValueError, match="dates has "):
            plot_topics_over_time(*fitted, values)
