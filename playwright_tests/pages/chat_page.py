"""A page under test: the chat page with a scripted client, and what every test may rely on at its end."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

# Kept in the page, so that a violation before the first call is counted too.
RECORD_VIOLATIONS = """
globalThis.violations = [];
addEventListener("securitypolicyviolation", ({ violatedDirective: directive, blockedURI: what }) => {
  violations.push(`${directive} ${what}`);
});
"""


class ChatPage:
    """The chat page: its parts by the names a person would use, and a record of all that must not happen."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.page: Page = context.new_page()
        self.strangers: list[str] = []
        self.complaints: list[str] = []
        context.route(lambda address: not address.startswith((url, "data:", "blob:")), self._refuse)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self._console(message.type, message.text))
        self.page.add_init_script(RECORD_VIOLATIONS)

    def _refuse(self, route: Route) -> None:
        self.strangers.append(route.request.url)
        route.abort()

    def _console(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def open(self, path: str = "/chat/") -> None:
        self.page.goto(self.url + path)
        if path.startswith("/chat"):
            expect(self.page.locator("#adapter")).not_to_have_text("Looking for a GPU…")

    def clean(self) -> None:
        """No request left the site, nothing broke, the policy was never hit."""
        wrong = [*self.strangers, *self.complaints, *self.page.evaluate("violations")]
        assert not wrong, wrong

    @property
    def prompt(self) -> Locator:
        return self.page.get_by_role("textbox", name="Message")

    @property
    def replies(self) -> Locator:
        return self.page.locator(".reply .prose")

    @property
    def notice(self) -> Locator:
        return self.page.locator(".notice")

    def ask(self, text: str) -> None:
        self.prompt.fill(text)
        self.prompt.press("Enter")

    def answered(self, count: int = 1) -> None:
        """Waits until that many replies stand complete; a notice that comes instead ends the wait."""
        complete = self.page.locator(".reply .foot:not([hidden])").nth(count - 1)
        expect(complete.or_(self.notice).first).to_be_visible()
        expect(self.page.locator(".reply .foot:not([hidden])")).to_have_count(count)
        expect(self.page.get_by_role("button", name="Stop")).to_have_count(0)

    def load(self) -> None:
        """Loads the model that the site serves."""
        self.page.get_by_role("button", name="Load model").click()
        self.ready()

    def ready(self) -> None:
        expect(self.page.locator("#model-dot")).to_have_attribute("data-state", "ready")

    def script(self, **parts: Any) -> None:
        """Changes what the scripted client does next."""
        self.page.evaluate("parts => void Object.assign(fake, parts)", parts)

    def calls(self, name: str) -> list[list[Any]]:
        """What the page asked of the client under that name: each call's arguments."""
        return self.page.evaluate(
            "name => (fake.calls ?? []).filter((c) => c[0] === name).map((c) => c.slice(1))", name
        )
