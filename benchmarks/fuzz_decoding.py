"""A differential fuzz: the fast path for usual answers (`wire.usual`) against decode and check.

`python -m benchmarks.fuzz_decoding --answers 1000000 --seed 1` writes answers by a grammar of what
libraries and careless servers send, mutates their bytes, and compares every answer that the fast
path takes with what the decoder and the check make of it: outcome, message, payloads, problems,
counts, and the type of each value. An answer that the fast path declines is read by these two
anyway. It prints each difference with the answer, and how many answers each way has read.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from benchmarks import sized
from metaserver.base.lanes import CheckedAnswer
from metaserver.base.states import ANSWERED
from metaserver.exchange.wire.contract import Report
from metaserver.exchange.wire.stream import Stream
from metaserver.exchange.wire.usual import usual_answer
from metaserver.exchange.wire.validation import check
from metaserver.exchange.wire.values import Limits, MethodResponse, WireError
from metaserver.exchange.wire.xmlrpc import Decoder
from metaserver.tasks.plugin import AnsweredTask, answered_tasks
from metaserver.uniprot.verdicts import Ruling
from metaserver.uniprot.vocabulary import FormatVocabulary

ANSWERS = sized(20_000, 200)
ODD = 0.02  # of the choices that the grammar makes
MOST = 5  # differences printed
LIMITS = Limits()
TAG = re.compile(r"(?<=[</])[\w.]+(?=>)")
SCALAR = re.compile(r"(?<=>)[^<>\s]+(?=<)")
FORM = FormatVocabulary()

GOOD = ["P04637", "P38398", "Q9UBX5", "O15111", "A0A023GPI8", "P06784", "P32917"]
MANY = [f"P{number:05}" for number in range(200)]
KNOWN = {*GOOD, *MANY}
BAD = [
    "Q00987", "p04637", "P04637-2", "P04637.1", " P04637", "P04637\n", "", "P0463", "P53_HUMAN",
    "P04&#54;37", "<![CDATA[P04637]]>", "P04637<!-- a -->", "P04637]]>", "P\u06604637", "7157",
    "sp|P04637", "Ｐ04637", "&e;", "P04637&amp;",
]  # fmt: skip
RANKS = [
    "0", "-1", "+1", "01", "1.0", "1e0", " 1", "2\n", "\u0661", "1_0", "-0", "", "x", "nan",
    "9" * 18, "9" * 19, "9" * 20, str(2**31), str(2**63 - 1), str(2**63), "&#49;", "0" * 30 + "1",
    "1<!-- -->", "1<?a?>",
]  # fmt: skip
CONFIDENCES = [
    "0.5", "1e-05", "1.0e-05", ".5", "5.e-1", "1", "1.", "1.0", "+.5", "+1", "1E-5", "0.00001",
    "0.9000000000000000222", "0.9999999999999999999", "01", "00.5", "5e-324", "1e-17", "0.75",
]  # fmt: skip
ODD_CONFIDENCES = [
    "0", "0.0", "-0", "-0.0", "1.0000000000000002", "1e-400", "1e400", "nan", "NaN", "inf",
    "Infinity", "-inf", "0x1p-1", "1_0", "0,5", " 0.5", "0.5\n", "", ".", "1e", "e5", "++1",
    "+-1", "2", "-0.5", "\u0660.5", "1e5", "&#48;.5", "0.5f", "1" * 400, "0." + "0" * 400 + "1",
    "True",
]  # fmt: skip
WORDS = [
    "UniProt", "", " ", "Ste5 binds Ste7.", "a &lt;b&gt; &amp; c", "&#60;&#62;&#34;",
    "β-catenin 𝔸", "line\r\nend\ttab", "a = 'b'", 'a="b"', "/>", "!?%[]{}", "\x7f\x85",
]  # fmt: skip
ODD_WORDS = [
    "<![CDATA[<i>&]]>", "]]>", "&e;", "&#0;", "&#xffff;", "&#31;", "&#127;", "&#99;", "\ufffe",
    "\uffff", "\x00", "\x0b", "\x1b", "<b>x</b>", "<!-- a -->", "</data>", "&", "<member>",
    "\ufeff",
]  # fmt: skip
NAMES = ["dbid", "dbid_a", "dbid_b", "rank", "confidence", "evidence", "x", "", " rank", "pairs"]
INTEGERS = ["int", "i4"]
TYPES = [
    *INTEGERS, "double", "string", "", "i8", "i2", "ex:i8", "boolean", "float", "nil", "date",
    "INT", "int ", "base64",
]  # fmt: skip
TRUTHS = ["1", "0"]
ODD_TRUTHS = ["true", "false", " 1", "2", "", "TRUE", "1.0", "-0"]
QUOTES = ["'", '"']
DECLARED = [
    "", "", " encoding={0}UTF-8{0}", " encoding={0}utf-8{0}", " encoding={0}us-ascii{0}",
    " encoding={0}ISO-8859-1{0}", " encoding={0}iso-8859-1{0}",
]  # fmt: skip
ODD_DECLARED = [
    " encoding={0}windows-1252{0}", " encoding={0}utf-16{0}", " standalone={0}yes{0}",
    " encoding={0}utf-7{0}", " encoding={0}x{0}", "  encoding = {0}UTF-8{0}",
    " encoding={0}us-a\u017fcii{0}", " encoding={0}UTF8{0}", " a={0}b{0}",
]  # fmt: skip
BEFORE = ["", "", "", "<!-- a -->", " ", "\n", "\ufeff", "<?a b?>", "<!DOCTYPE a>", "\0", "x"]
BEHIND = ["", "\n", "\r\n", "\0", " \0\n"]
ODD_BEHIND = ["x", "<!-- a -->", "<?a?>", "<a/>", "&", "\x0b", "</methodResponse>", "\u00a0"]
SPACES = ["", "", "\n", "\r\n", "\n  ", "\t"]
ODD_SPACES = ["x", "\x0b", "\x0c", "\u00a0", "<!-- -->", "\0", "<?a?>", "&#32;", "  "]
CHARSETS = [None] * 15 + ["utf-8"] * 8 + ["us-ascii", "iso-8859-1", "x"]
ENCODINGS = ["utf-8"] * 40 + ["utf-16", "iso-8859-1", "utf-8-sig"]
TOKENS = [
    *"<>&/0123456789eE.+-_ \"'P=]", "<value>", "</value>", "<int>", "</int>", "<i4>", "</i4>",
    "<double>", "</double>", "<string>", "</string>", "<member>", "</member>", "<name>",
    "</name>", "<struct>", "</struct>", "<array>", "</array>", "<data>", "</data>", "<data/>",
    "<value/>", "<nil/>", "rank", "dbid", "confidence", "\n", "\0", "\ufeff", "é", "]]>", "<!--",
    "-->", "&amp;", "<boolean>",
]  # fmt: skip


class Release:
    """A vocabulary of the accessions in `KNOWN`; one other was merged into one of them."""

    def rulings(self, accessions: Sequence[str]) -> Mapping[int, Ruling]:
        """Return a ruling by index for each other string."""
        return {place: _ruling(text) for place, text in enumerate(accessions) if text not in KNOWN}


def _ruling(text: str) -> Ruling:
    if text == "Q00987":
        return Ruling("P04637", "merged into P04637")
    return FORM.rulings([text]).get(0) or Ruling(None, "unknown")


RELEASE = Release()


class Grammar:
    """A writer of answers: each has the style of one library, and now and then something odd."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._space = ""
        self._odd = 0.0
        self._integer = "int"
        self._typed = True
        self._ones = 0.0

    def answer(self, odd: float | None = None) -> str:
        """Return the text of an answer; `odd` is the share of its choices that are odd."""
        dice = self._dice
        self._odd = dice.choice([0.0, ODD / 4, ODD, ODD * 5]) if odd is None else odd
        self._space = dice.choice(SPACES)
        self._integer = dice.choice(INTEGERS)
        self._typed = dice.random() < 0.8
        self._ones = dice.choice([0.0, 0.0, 0.1, 1.0])
        members = [
            ("interaction", self._classification),
            ("normalizations", lambda: self._hits(["dbid"])),
            ("pairs", lambda: self._hits(["dbid_a", "dbid_b"])),
        ]
        if self._is_odd():
            members += [
                ("extra", self._classification),
                ("mentions", lambda: self._hits(["mention"])),
            ]
        dice.shuffle(members)
        sent = [self._member(name, write()) for name, write in members if dice.random() < 0.7]
        if self._is_odd() and sent:
            sent.append(dice.choice(sent))
        frame = ["methodResponse", "params", "param", "value", "struct"]
        text = self._join(*sent)
        for name in reversed(frame):
            text = self._element(name, text)
        return self._declaration() + text + self._pick(BEHIND, ODD_BEHIND)

    def _declaration(self) -> str:
        quote = self._dice.choice(QUOTES)
        before = self._dice.choice(BEFORE) if self._is_odd() else ""
        if self._dice.random() < 0.2:
            return before
        encoding = self._pick(DECLARED, ODD_DECLARED).format(quote)
        version = "1.1" if self._is_odd() else "1.0"
        end = self._dice.choice(["?>", " ?>"])
        return f"{before}<?xml version={quote}{version}{quote}{encoding}{end}{self._gap()}"

    def _classification(self) -> str:
        items = [
            self._value("boolean", self._pick(TRUTHS, ODD_TRUTHS)),
            self._confidence(),
        ]
        if self._is_odd():
            items = items[: self._dice.randint(0, 1)] * self._dice.randint(0, 2)
        return self._array(items)

    def _hits(self, fields: Sequence[str]) -> str:
        dice = self._dice
        count = dice.choice([0, 1, 1, 2, 3, 3, 5]) if dice.random() < 0.999 else 150
        ranks = list(range(1, count + 1))
        if dice.random() < 0.3:
            dice.shuffle(ranks)
        ranked = dice.random() < 0.8
        pool = dice.sample(GOOD, len(GOOD)) + MANY[: count + 1]
        if dice.random() < 0.2:  # self pairs, repetitions
            pool = dice.choices(pool, k=len(pool))
        return self._array(
            [
                self._hit(fields, pool[place:], ranks[place] if ranked else None)
                for place in range(count)
            ]
        )

    def _hit(self, fields: Sequence[str], pool: Sequence[str], rank: int | None) -> str:
        dice = self._dice
        members = [
            (field, self._string(self._pick(pool[place : place + 1], BAD + GOOD)))
            for place, field in enumerate(fields)
        ]
        members.append(("confidence", self._confidence()))
        if (rank is not None) != self._is_odd():
            text = self._pick([str(rank or 1)], [*RANKS, "1", "2"])
            members.append(("rank", self._value(self._integer, text)))
        if dice.random() < 0.2:
            members.append(("evidence", self._string(self._pick(WORDS, ODD_WORDS))))
        single = len(fields) == 1 or self._is_odd()
        if single and dice.random() < 0.1:
            members.append(("taxid", self._value(self._integer, self._pick(["9606"], RANKS))))
        if single and dice.random() < 0.1:
            members.append(("dbname", self._string(self._pick(WORDS, ODD_WORDS))))
        if self._is_odd():
            members.append(
                dice.choice([*members, (" rank", self._value("int", "1")), ("x", "<value/>")])
            )
        if self._is_odd():
            members.pop(dice.randrange(len(members)))
        if dice.random() < 0.3:
            dice.shuffle(members)
        struct = self._element("struct", self._join(*(self._member(*each) for each in members)))
        return self._element("value", struct)

    def _confidence(self) -> str:
        if self._dice.random() < self._ones:
            return self._value(self._integer, self._pick(["1"], ["0", "2", "01", "+1", "-1", ""]))
        return self._value("double", self._pick(CONFIDENCES, ODD_CONFIDENCES))

    def _string(self, text: str) -> str:
        return self._value("string" if self._typed else "", text)

    def _value(self, kind: str, text: str) -> str:
        if self._is_odd():
            kind = self._dice.choice(TYPES)
        if not kind:
            return f"<value>{text}</value>"
        return f"<value>{self._gap()}<{kind}>{text}</{kind}>{self._gap()}</value>"

    def _array(self, items: Sequence[str]) -> str:
        data = self._element("data", self._join(*items))
        if not items and self._dice.random() < 0.5:
            data = "<data/>"
        return self._element("value", self._element("array", data))

    def _member(self, name: str, value: str) -> str:
        return self._element("member", self._join(f"<name>{name}</name>", value))

    def _element(self, name: str, inner: str) -> str:
        return f"<{name}>{self._gap()}{inner}{self._gap()}</{name}>"

    def _join(self, *parts: str) -> str:
        return self._gap().join(parts)

    def _gap(self) -> str:
        return self._dice.choice(ODD_SPACES) if self._is_odd(0.1) else self._space

    def _pick(self, usual: Sequence[str], odd: Sequence[str]) -> str:
        return self._dice.choice(odd if self._is_odd() else usual)

    def _is_odd(self, share: float = 1.0) -> bool:
        return self._odd > 0.0 and self._dice.random() < self._odd * share


def mutated(body: bytes, dice: random.Random) -> bytes:
    """Return a body with one to three changes: pieces taken out, put in, doubled or swapped."""
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        start = dice.randrange(len(body) + 1)
        if dice.random() < 0.5:  # at the edge of a tag
            start = max(body.find(dice.choice([b"<", b">"]), start), 0) + dice.randint(0, 1)
        end = min(len(body), start + dice.choice([0, 0, 1, 1, 2, 8, 40]))
        piece, token = body[start:end], dice.choice(TOKENS).encode()
        pieces = [b"", token, piece * 2, piece[::-1], bytes([dice.randrange(256)])]
        body = body[:start] + dice.choice(pieces) + body[end:]
        if dice.random() < 0.1:
            body = body[:start]
    return body


def retagged(text: str, dice: random.Random) -> str:
    """Return a text with another name in the place of one tag's."""
    tags = list(TAG.finditer(text))
    if not tags:
        return text
    found = dice.choice(tags)
    other = dice.choice(INTEGERS if found[0] in INTEGERS else TYPES)
    return text[: found.start()] + other + text[found.end() :]


def untagged(text: str, dice: random.Random) -> str:
    """Return a text without one of its tags."""
    tags = [found.span() for found in re.finditer("<[^<>]*>", text)]
    start, end = dice.choice(tags)
    return text[:start] + text[end:]


def revalued(text: str, dice: random.Random) -> str:
    """Return a text with another scalar or name in the place of one."""
    scalars = list(SCALAR.finditer(text))
    if not scalars:
        return text
    found = dice.choice(scalars)
    other = dice.choice(
        dice.choice([RANKS, CONFIDENCES, CONFIDENCES, ODD_CONFIDENCES, GOOD, BAD, WORDS, NAMES])
    )
    return text[: found.start()] + other + text[found.end() :]


def swapped(text: str, dice: random.Random) -> str:
    """Return a text with one scalar, name or tag in the place of another one of it."""
    pieces = text.split("<")
    if len(pieces) < 4:
        return text
    here, there = (dice.randrange(1, len(pieces)) for _ in range(2))
    if dice.random() < 0.5:
        pieces[here] = pieces[there]
    else:
        pieces[here], pieces[there] = pieces[there], pieces[here]
    return "<".join(pieces)


def respaced(text: str, dice: random.Random) -> str:
    """Return a text with another character between two tags, mostly white space."""
    edges = [found.start() + 1 for found in re.finditer(r">\s*<", text)]
    place = dice.choice(edges)
    space = dice.choice([*SPACES, *SPACES, *ODD_SPACES])
    return text[:place] + space + text[place:]


def redigited(text: str, dice: random.Random) -> str:
    """Return a text with another digit, sign or point in the place of one character of a number."""
    digits = [found.start() for found in re.finditer(r"[0-9.](?=[^<>]*</[di])", text)]
    if not digits:
        return text
    place = dice.choice(digits)
    return text[:place] + dice.choice("00112233456789.eE+- _") + text[place + dice.randint(0, 1) :]


CHANGES = (respaced, redigited, swapped, revalued, retagged, untagged)


def answers(dice: random.Random) -> Iterator[bytes]:
    """Yield answers without end: any of the grammar, and mutants of one that is nearly usual."""
    grammar = Grammar(dice)
    while True:
        yield grammar.answer().encode(dice.choice(ENCODINGS), "replace")
        text = grammar.answer(dice.choice([0.0, 0.0, ODD / 10]))
        yield mutated(text.encode("utf-8", "replace"), dice)
        for change in CHANGES:
            yield change(text, dice).encode()


def quick(
    body: bytes, charset: str | None, tasks: Sequence[AnsweredTask], limits: Limits = LIMITS
) -> CheckedAnswer | None:
    """Return what the fast path makes of a body, None where it leaves it to the decoder."""
    decoder = Decoder(limits, charset=charset)
    try:
        decoder.feed(body)
    except WireError:
        return None
    return usual_answer(decoder.held, tasks, RELEASE, limits)


def full(
    body: bytes,
    charset: str | None,
    tasks: Collection[AnsweredTask],
    kind: type[Decoder | Stream] = Decoder,
) -> CheckedAnswer | str:
    """Return what the decoder and the check make of a body, or the error."""
    report = Report()
    decoder = kind(LIMITS, charset=charset, report=report)
    try:
        decoder.feed(body)
        message = decoder.close()
    except WireError as error:
        return str(error)
    if not isinstance(message, MethodResponse):
        return str(message)
    return check(message.value, tasks, RELEASE, report)


def choose_tasks(dice: random.Random) -> Sequence[AnsweredTask]:
    """Return the tasks that a server is asked for: all of them, or some in another order."""
    tasks = list(answered_tasks().values())
    return tasks if dice.random() < 0.85 else dice.sample(tasks, dice.randint(1, len(tasks)))


def compare(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Return how many answers each way has read, and the first differences."""
    dice = random.Random(seed)
    counts: Counter[str] = Counter()
    differences: list[str] = []
    for number, body in zip(range(count), answers(dice), strict=False):
        charset, tasks = dice.choice(CHARSETS), choose_tasks(dice)
        found = quick(body, charset, tasks)
        mutant = "mutated" if number % (len(CHANGES) + 2) else "written"
        if found is None:
            usable = number % 50 == 0 and full(body, charset, tasks)
            counts[f"{mutant}, declined"] += 1
            if isinstance(usable, CheckedAnswer):
                good = usable.outcome in ANSWERED
                counts[f"of each 50th: declined, {'answered' if good else 'failed'}"] += 1
            continue
        counts[f"{mutant}, taken{', with problems' if found.problem_count else ''}"] += 1
        expected = full(body, charset, tasks, Stream if number % 4 == 0 else Decoder)
        if repr(found) != repr(expected):
            counts["different"] += 1
            if len(differences) < MOST:
                names = [task.name for task in tasks]
                differences.append(f"{body!r} {charset} {names}\n  {found}\n  {expected}")
    return counts, differences


def main() -> int:
    """Compare, print what was found, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--answers", type=int, default=ANSWERS)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    counts, differences = compare(options.answers, options.seed)
    for name, count in sorted(counts.items()):
        print(f"{name:40} {count:10,}")
    for difference in differences:
        print(difference)
    print(f"{counts['different']:,} of {options.answers:,} answers are read differently")
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
