"""What the pages of a site offer: their links, and the buttons of their forms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser

from tests.hubs.sites import Page, Visitor


@dataclass(frozen=True, kw_only=True)
class Button:
    """A button that posts a form: the address, and the form's fields as they stand.

    `files` are the names of its fields for files, which no page can fill in.
    """

    address: str
    fields: Mapping[str, str]
    files: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What is asked for, without the query: the address, and whether it is a preview."""
        return self.address.partition("?")[0], self.fields.get("preview", "")

    async def press(
        self, web: Visitor, texts: Mapping[str, str], files: Mapping[str, bytes]
    ) -> Page:
        """Press it with this browser's session; empty fields get the texts of their names."""
        filled = {name: value or texts.get(name, "") for name, value in self.fields.items()}
        filled["csrf"] = web.csrf
        if not self.files:
            return await web.post(self.address, filled)
        content = next(one for part, one in files.items() if part in self.address)
        sent = dict.fromkeys(self.files, ("sent.tsv", content))
        return await web.send(self.address, sent, **filled)


@dataclass
class _Form:
    method: str = "get"
    action: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)


class Offers(HTMLParser):
    """The links and forms of the page at `path`."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self._path = path
        self._forms = defaultdict[str, _Form](_Form)  # a control may come before its form
        self._buttons: list[tuple[str, dict[str, str]]] = []
        self._form = self._open = ""  # the names of the form and the control that it stands in
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and given.get("href", "").startswith("/"):
            self.links.add(given["href"].partition("#")[0])
        elif tag == "form":
            self._form = given.get("id") or str(len(self._forms))
            form = self._forms[self._form]
            form.method, form.action = given.get("method", "get"), given.get("action", self._path)
        elif tag == "button" and given.get("type") != "button":
            self._buttons.append((given.get("form") or self._form, given))
        elif tag == "option" and self._open:
            chosen = self._forms[self._form].fields
            if "selected" in given or self._open not in chosen:
                chosen[self._open] = given.get("value", "")
        elif (of := given.get("form") or self._form) and (name := given.get("name")):
            self._control(tag, name, given, self._forms[of])

    def _control(self, tag: str, name: str, given: Mapping[str, str], form: _Form) -> None:
        kind = given.get("type")
        if tag in ("select", "textarea"):
            self._open = name
        elif kind == "file":
            form.files.append(name)
        elif kind not in ("checkbox", "radio") or "checked" in given:
            form.fields[name] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = ""
        elif tag in ("select", "textarea"):
            self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open and self.lasttag == "textarea":
            fields = self._forms[self._form].fields
            fields[self._open] = (fields.get(self._open, "") + data).lstrip("\n")

    def buttons(self) -> Iterator[Button]:
        """Yield the buttons of forms that are posted."""
        for name, given in self._buttons:
            form = self._forms[name]
            if form.method != "post":
                continue
            own = {given["name"]: given.get("value", "")} if given.get("name") else {}
            yield Button(
                address=given.get("formaction") or form.action,
                fields={**form.fields, **own},
                files=tuple(form.files),
            )


async def crawled(web: Visitor, starts: Iterable[str], aside: tuple[str, ...]) -> dict[str, Page]:
    """Open what is linked from the first pages, and return it by its path.

    Of the links to a public page that differ in the values of their parameters, which order, page
    and choose what it shows, one is opened for each parameter: of all, there are thousands.
    Links that begin with one of `aside` are left out.
    """
    waiting, pages, seen = list(starts), dict[str, Page](), set[tuple[str, str]]()
    while waiting:
        path = waiting.pop()
        if path.startswith(aside) or not (new := _parts(path) - seen):
            continue
        seen |= new
        pages[path] = page = await web.get(path)
        if page.headers["Content-Type"].startswith("text/html"):
            waiting += sorted(Offers(page.path, page.text).links)
    return pages


def _parts(link: str) -> set[tuple[str, str]]:
    """Return a link's path with each parameter: its value too where it may name what is asked."""
    path, _, query = link.partition("?")
    if path.startswith("/organise"):
        return {(path, query)}
    return {(path, part.partition("=")[0]) for part in query.split("&")}


def offered(pages: Mapping[str, Page]) -> dict[tuple[str, str], Button]:
    """Return the buttons of pages by their keys, but for that which ends the session."""
    found = {}
    for page in pages.values():
        for button in Offers(page.path, page.text).buttons():
            found[button.key] = button
    found.pop(("/signout", ""), None)
    return found
