"""Leaks: rows of test that stand in train, repeats, texts with two labels, near-duplicates, shared endings."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.data import Rows, read_rows
from cls_probe.data.matching import ENDING, Found, differing, normalised, repeats
from cls_probe.data.near import NearIndex, check_near
from cls_probe.errors import check_seed
from cls_probe.plotting import COLOURS, panels, style
from cls_probe.result import Column, Record, Result, number_or_none, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = {
    "repeat": "the same text, character for character, as an earlier row (or a train row)",
    "normalised_repeat": "as repeat, but of letters and digits alone, in lower case; repeats are among them",
    "near_repeat": "no normalised repeat, but near to an earlier row (or a train row): Jaccard similarity of their "
    "runs of 5 letters and digits at least the threshold",
    "shared_ending": f"the same last {ENDING} letters and digits as a row of another text",
    "conflict": "the same text, character for character, as a row with another label",
    "normalised_conflict": "as conflict, but of letters and digits alone, in lower case; conflicts are among them",
}
"""Name of every kind of leak -> its definition."""
PLACES = ("train", "test", "test in train")
"""Rows of train against train, of test against test, of test against train."""
_SHOWN_CONFLICTS = 5
_SHOWN_CHARACTERS = 40


@dataclass(frozen=True, kw_only=True, eq=False)
class LeaksResult(Result):
    """Every row that leaks, once for each kind and place; parallel fields, in the order of KINDS, PLACES and rows."""

    n_train: int
    """Rows of train."""
    n_test: int | None
    """Rows of test, None without test rows."""
    kinds: tuple[str, ...]
    """Kinds that were looked for, names of KINDS."""
    leak: tuple[str, ...]
    """Name of the kind, one of KINDS."""
    place: tuple[str, ...]
    """Name of the place, one of PLACES."""
    row: NDArray[np.int64]
    """Number of the row, from 0; of test in both places that begin with test."""
    line: tuple[int | None, ...]
    """Its line in the file, from 1, None for rows that come from no file."""
    text: tuple[str, ...]
    """Its text; a second text follows after [SEP]."""
    label: tuple[str | None, ...]
    """Its class name, None without labels."""
    other_row: NDArray[np.int64]
    """Number of the first row that it matches; of train in "test in train"."""
    other_line: tuple[int | None, ...]
    """Line of that row."""
    other_text: tuple[str, ...]
    """Text of that row."""
    other_label: tuple[str | None, ...]
    """Class name of that row."""
    group: NDArray[np.int64]
    """Number of the first row that has the text or ending in question: the same for all rows of one group."""
    jaccard: NDArray[np.float64]
    """Jaccard similarity of a near repeat, in [0, 1]; NaN for the other kinds."""

    title = "Leaks: rows that are not new"
    star = ""
    documented = (
        Column(name="leak", meaning="; ".join(f"{name}: {meaning}" for name, meaning in KINDS.items())),
        Column(name="place", meaning="train, test, or test in train: where row and other_row stand"),
        Column(name="row", meaning="number of the row, from 0"),
        Column(name="line", meaning="its line in the file, from 1; empty where it comes from no file"),
        Column(name="text", meaning="its text, a second one after [SEP]"),
        Column(name="label", meaning="its class name, empty without labels"),
        Column(name="other_row", meaning="number of the first row that it matches"),
        Column(name="other_line", meaning="line of that row"),
        Column(name="other_text", meaning="text of that row"),
        Column(name="other_label", meaning="class name of that row"),
        Column(name="group", meaning="number of the first row of the text or ending in question"),
        Column(name="jaccard", meaning="Jaccard similarity of a near_repeat, else empty", range=(0, 1)),
    )
    meaning = "A row is counted once for each kind and place; groups: the texts or endings that these rows share."

    def records(self) -> list[Record]:
        """One record for each row, kind and place."""
        columns = {column.name: getattr(self, column.name) for column in self.documented}
        return [
            {
                **{name: values[i] for name, values in columns.items()},
                **{name: int(columns[name][i]) for name in ("row", "other_row", "group")},
                "jaccard": number_or_none(self.jaccard[i]),
            }
            for i in range(len(self.leak))
        ]

    def counts(self) -> list[Record]:
        """One record for each kind and place looked at: rows, their share of the place's rows, and groups."""
        places = PLACES[:1] if self.n_test is None else PLACES
        found = np.array(list(zip(self.leak, self.place, strict=True)), dtype=object).reshape(-1, 2)
        out: list[Record] = []
        for kind in self.kinds:
            for place in places:
                here = self.group[(found[:, 0] == kind) & (found[:, 1] == place)]
                share = len(here) / (self.n_train if place == "train" else self.n_test or 1)
                groups = len(np.unique(here))
                out.append({"leak": kind, "place": place, "rows": len(here), "share": share, "groups": groups})
        return out

    def summary(self) -> tuple[Sequence[Column], Sequence[Record]]:
        """Show the counts."""
        return (
            Column(name="leak", meaning="", heading="leak"),
            Column(name="place", meaning="", heading="place"),
            Column(name="rows", meaning="", heading="rows"),
            Column(name="share", meaning="", heading="share", format=".4f"),
            Column(name="groups", meaning="", heading="groups"),
        ), self.counts()

    def notes(self) -> list[str]:
        """Define the kinds, say what was left out, and show the first conflicts."""
        sizes = f"{self.n_train:,} train rows" + ("" if self.n_test is None else f", {self.n_test:,} test rows")
        notes = [f"{sizes}. {self.meaning} --csv lists every row.", ""]
        notes += [f"{kind}: {KINDS[kind]}" for kind in self.kinds]
        near, seed = self.params["near"], self.params["seed"]
        notes += [f"Threshold {near:g}; candidates by MinHash (seed {seed}), each confirmed."] * (near > 0)
        notes += ["Near repeats were not looked for (near is 0)."] * (near == 0)
        notes += ["Labels were not compared: not all rows have one."] * ("conflict" not in self.kinds)
        first = [i for i, kind in enumerate(self.leak) if kind == "conflict"][:_SHOWN_CONFLICTS]
        return [*notes, *(["", "First conflicts"] if first else []), *map(self._conflict, first)]

    def _conflict(self, i: int) -> str:
        rows = f"{self.row[i]} ({self.label[i]!s:.20}) and {self.other_row[i]} ({self.other_label[i]!s:.20})"
        return f"{self.place[i]} {rows}: {shortened(self.text[i], _SHOWN_CHARACTERS)}"

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the share of rows for every kind and place."""
        counts = self.counts()
        places = list(dict.fromkeys(count["place"] for count in counts))
        height = 0.8 / len(places)
        with style():
            figure, axes = panels(ax, 1, width=6.4, height=0.9 + 0.45 * len(self.kinds))
            for number, place in enumerate(places):
                here = [count for count in counts if count["place"] == place]
                at = [i + number * height for i in range(len(here))]
                shares, colour = [count["share"] for count in here], COLOURS[number]
                bars = axes[0].barh(at, shares, height=height * 0.9, color=colour, label=place)
                axes[0].bar_label(bars, [f" {count['rows']:,}" for count in here])
            middle = [i + (len(places) - 1) * height / 2 for i in range(len(self.kinds))]
            axes[0].set_yticks(middle, [kind.replace("_", " ") for kind in self.kinds])
            axes[0].invert_yaxis()
            axes[0].set_xlim(0, max(0.01, 1.15 * max(count["share"] for count in counts)))
            axes[0].set_xlabel("share of the rows (number of rows beside the bar)")
            axes[0].legend()
        return figure


def leaks(rows: Any, test_rows: Any = None, *, near: float = 0.8, seed: int = 0) -> LeaksResult:
    """Report what train and test rows share, and what each repeats of itself.

    Two normalisations of a text count: none (character for character) and letters and digits in lower case; both are
    reported. Near repeats are found by MinHash with locality-sensitive hashing (Broder 1997; Leskovec, Rajaraman &
    Ullman 2014, chapter 3), and each is confirmed by its exact Jaccard similarity: none is wrong, and a pair at the
    threshold is found with a chance of at least 0.99.

    Parameters
    ----------
    rows
        Train rows: :class:`Rows`, or what :func:`cls_probe.data.read_rows` takes.
    test_rows
        Test rows, likewise; None to look at train alone.
    near
        Jaccard similarity from which different texts are near, in (0, 1]; 0 leaves near repeats out.
    seed
        Draws the hash functions.

    Returns
    -------
    LeaksResult
        Every row that leaks, with the row that it matches.

    Raises
    ------
    InputError
        Unusable rows or options.
    MissingDependencyError
        Near repeats without the package ``datasketch``.

    """
    check_near(near)
    check_seed(seed)
    train = _side(rows)
    test = None if test_rows is None else _side(test_rows)
    sides = [train] if test is None else [train, test]
    found = {(kind, place): pairs for kind, place, pairs in _exact(train, test)}
    if near:
        found |= _near(train, test, near, seed)
    labelled = all(side.rows.labels is not None for side in sides)
    kinds = [k for k in KINDS if (near or k != "near_repeat") and (labelled or "conflict" not in k)]
    source = {"rows": train.rows.source, "rows_sha256": train.rows.sha256, "n_rows": len(train.rows)}
    if test is not None:
        source |= {"test_rows": test.rows.source, "test_rows_sha256": test.rows.sha256}
    lines = [
        (kind, place, *pair)
        for kind in kinds
        for place in PLACES[: 1 if test is None else 3]
        for pair in found[kind, place]
    ]
    of = [train.rows if place == "train" else sides[-1].rows for _, place, *_ in lines]
    others = [sides[-1].rows if place == "test" else train.rows for _, place, *_ in lines]
    return LeaksResult(
        params={"near": near, "seed": seed},
        source=source,
        n_train=len(train.rows),
        n_test=None if test is None else len(test.rows),
        kinds=tuple(kinds),
        leak=tuple(line[0] for line in lines),
        place=tuple(line[1] for line in lines),
        group=np.array([line[4] for line in lines], dtype=np.int64),
        jaccard=np.array([line[5] for line in lines], dtype=np.float64),
        **_told("", of, [line[2] for line in lines]),
        **_told("other_", others, [line[3] for line in lines]),
    )


@dataclass(frozen=True, kw_only=True)
class _Side:
    """Rows with the keys that they are compared by."""

    rows: Rows
    exact: list[tuple[str, str]]
    normal: list[str]
    endings: list[str | None]
    """None for a text that is no longer than an ending."""


def _side(rows: Any) -> _Side:
    rows = rows if isinstance(rows, Rows) else read_rows(rows)
    normal = normalised(rows)
    pairs = rows.text_pairs or [""] * len(rows)
    endings = [key[-ENDING:] if len(key) > ENDING else None for key in normal]
    return _Side(rows=rows, exact=list(zip(rows.texts, pairs, strict=True)), normal=normal, endings=endings)


def _exact(train: _Side, test: _Side | None) -> Iterator[tuple[str, str, list[Found]]]:
    """Give kind, place and what was found, for all kinds but the near repeats."""
    places = [("train", train, train)]
    if test is not None:
        places += [("test", test, test), ("test in train", test, train)]
    for place, side, known in places:
        for kind, keys in (("", "exact"), ("normalised_", "normal")):
            mine, theirs = getattr(side, keys), getattr(known, keys)
            yield f"{kind}repeat", place, list(repeats(mine, None if side is known else theirs))
            if side.rows.labels is not None and known.rows.labels is not None:
                yield f"{kind}conflict", place, list(differing(mine, side.rows.labels, theirs, known.rows.labels))
        yield "shared_ending", place, list(differing(side.endings, side.normal, known.endings, known.normal))


def _near(train: _Side, test: _Side | None, near: float, seed: int) -> dict[tuple[str, str], list[Found]]:
    index = NearIndex(near, seed)
    found = {("near_repeat", "train"): list(index.within(train.normal))}
    if test is not None:
        found["near_repeat", "test"] = list(NearIndex(near, seed).within(test.normal))
        found["near_repeat", "test in train"] = list(index.across(test.normal))
    return found


def _told(prefix: str, rows: Iterable[Rows], numbers: Sequence[int]) -> dict[str, Any]:
    """Fields that tell which rows these are."""
    told = list(zip(rows, numbers, strict=True))
    return {
        f"{prefix}row": np.array(numbers, dtype=np.int64),
        f"{prefix}line": tuple(None if of.lines is None else of.lines[row] for of, row in told),
        f"{prefix}text": tuple(_both(of, row) for of, row in told),
        f"{prefix}label": tuple(None if of.labels is None else of.labels[row] for of, row in told),
    }


def _both(rows: Rows, row: int) -> str:
    return rows.texts[row] if rows.text_pairs is None else f"{rows.texts[row]} [SEP] {rows.text_pairs[row]}"
