"""Opens reports in a real browser, offline, and says what a reader would find.

Reads from standard input: {"browser": PATH, "artefacts": FOLDER, "pages": [FILE, …]}; prints for each page what was seen. With "site": ADDRESS it
goes through the pages of `fathom serve` as a reader would.
"""
import json
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

READY = "html[data-state=drawing], html[data-state=drawn], html[data-state=failed]"


def look(browser, path, artefacts):
    context = browser.new_context(viewport={"width": 1200, "height": 900}, offline=True, accept_downloads=True)
    page = context.new_page()
    seen = {"errors": [], "requests": []}
    page.on("console", lambda message: seen["errors"].append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: seen["errors"].append(str(error)))
    page.on("request", lambda request: seen["requests"].append(request.url[:100]))
    begin = time.monotonic()
    page.goto(Path(path).as_uri())
    page.wait_for_selector(READY, state="attached", timeout=60000)
    seen["ready_secs"] = time.monotonic() - begin
    # The first screen, before anything else is drawn.
    page.screenshot(path=f"{artefacts}/{Path(path).stem}-first.png")
    begin = time.monotonic()
    if page.evaluate("typeof window.fathomDrawAll") == "function":
        page.evaluate("window.fathomDrawAll()")
    seen["state"] = page.evaluate("document.documentElement.dataset.state")
    seen["drawn_secs"] = time.monotonic() - begin
    seen["title"] = page.title()
    seen["answer"] = page.inner_text("#answer")
    seen["evil"] = page.evaluate("window.evil === undefined ? null : String(window.evil)")
    # What is drawn, as the library holds it: the figures of the chart, not those of the island beside it.
    seen["charts"] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('figure.chart')].map(figure => [
            figure.id.replace(/^chart-/, ''),
            [...(figure.querySelector('.drawing').data || [])].map(trace => ({
                name: trace.name || null, type: trace.type, x: [...trace.x], y: [...trace.y],
                values: trace.customdata ? trace.customdata.map(row => [...row]) : null,
            })),
        ]))"""
    )
    seen["hovered"] = hover(page)
    seen["toggled"] = toggle(page)
    seen["zoomed"] = zoom(page)
    seen["downloads"] = downloads(page)
    page.screenshot(path=f"{artefacts}/{Path(path).stem}.png", full_page=True)
    colour = lambda: page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = colour()
    page.emulate_media(color_scheme="dark")
    seen["dark"] = once(page, colour, lambda now: now != light)
    page.set_viewport_size({"width": 390, "height": 800})
    width = lambda: page.evaluate("document.documentElement.scrollWidth")
    seen["phone_width"] = once(page, width, lambda now: now <= 390)
    page.screenshot(path=f"{artefacts}/{Path(path).stem}-phone-dark.png")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1200, "height": 900})
    seen["printed_bytes"] = len(page.pdf())
    context.close()
    return seen


def once(page, ask, holds, longest=10):
    """What is there as soon as it is as it should be, or after so many seconds: a page needs its time, and a busy machine more of it."""
    end = time.monotonic() + longest
    while not holds(now := ask()) and time.monotonic() < end:
        page.wait_for_timeout(50)
    return now


def first(page):
    """The first chart with a line or bars that can be pointed at."""
    for figure in page.query_selector_all("figure.chart"):
        if figure.query_selector(".scatterlayer .trace, .barlayer .trace") and figure.is_visible():
            figure.scroll_into_view_if_needed()
            return figure
    return None


def hover(page):
    """The words beside a point, with its exact value."""
    figure = first(page)
    if figure is None:
        return None
    area = figure.query_selector(".nsewdrag").bounding_box()
    for wait in (60, 500):
        for part in (0.5, 0.3, 0.7, 0.15, 0.85):
            for height in (0.2, 0.5, 0.8, 0.35, 0.65, 0.95):
                page.mouse.move(area["x"] + area["width"] * part, area["y"] + area["height"] * height)
                page.wait_for_timeout(wait)
                words = page.query_selector(".hoverlayer .hovertext")
                if words:
                    return words.text_content()
    return ""


def toggle(page):
    """A series is taken out and put back with the keyboard alone."""
    figure = first(page)
    box = figure and figure.query_selector(".toggles input")
    if box is None:
        return None
    shown = "figure => [...figure.querySelector('.drawing').data].filter(trace => trace.meta === 0).map(trace => trace.visible ?? true)"
    box.focus()
    before = figure.evaluate(shown)
    now = lambda: figure.evaluate(shown)
    page.keyboard.press("Space")
    without = once(page, now, lambda shown: shown != before)
    page.keyboard.press("Space")
    return [before, without, once(page, now, lambda shown: shown == before)]


def zoom(page):
    """Dragging over a part of a chart shows that part."""
    figure = first(page)
    if figure is None:
        return None
    extent = "figure => [...figure.querySelector('.drawing')._fullLayout.xaxis.range]"
    before = figure.evaluate(extent)
    area = figure.query_selector(".nsewdrag").bounding_box()
    middle = area["y"] + area["height"] / 2
    page.mouse.move(area["x"] + area["width"] * 0.3, middle)
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] * 0.6, middle, steps=8)
    page.mouse.up()
    return [before, once(page, lambda: figure.evaluate(extent), lambda now: now != before)]


def downloads(page):
    found = {}
    for button in page.query_selector_all("button.download"):
        with page.expect_download() as begun:
            button.click()
        found[begun.value.suggested_filename] = Path(begun.value.path()).read_text()
    return found


def walk(browser, address, artefacts):
    """The list, the report of an entry, the comparison of two."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    seen = {"errors": [], "elsewhere": []}
    page.on("console", lambda message: seen["errors"].append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: seen["errors"].append(str(error)))
    page.on("request", lambda request: None if request.url.startswith((address, "blob:", "data:")) else seen["elsewhere"].append(request.url[:100]))
    page.goto(address)
    seen["rows"] = page.locator("input[name=entry]").count()
    page.screenshot(path=f"{artefacts}/serve-list.png", full_page=True)
    page.click("a[href='/entry/1']")
    page.wait_for_selector(READY, state="attached", timeout=60000)
    page.evaluate("window.fathomDrawAll()")
    seen["entry"] = [page.evaluate("document.documentElement.dataset.state"), page.locator("figure.chart").count(), page.inner_text("#answer")]
    page.go_back()
    for box in page.query_selector_all("input[name=entry]"):
        box.check()
    page.click("text=Compare what is ticked")
    page.wait_for_selector(READY, state="attached", timeout=60000)
    seen["compared"] = page.inner_text("#answer")
    page.screenshot(path=f"{artefacts}/serve-compared.png", full_page=True)
    context.close()
    return seen


def main():
    asked = json.load(sys.stdin)
    with sync_playwright() as tool:
        # Root may not use the browser's own sandbox.
        browser = tool.chromium.launch(executable_path=asked["browser"], args=["--no-sandbox"])
        if "site" in asked:
            seen = walk(browser, asked["site"], asked["artefacts"])
        else:
            seen = {path: look(browser, path, asked["artefacts"]) for path in asked["pages"]}
        browser.close()
    json.dump(seen, sys.stdout)


main()
