"""Opens reports in a real browser, offline, and says what a reader would find.

Reads from standard input: {"browser": PATH, "artefacts": FOLDER, "pages": [FILE, …]}; prints for each page what was seen. With "site": ADDRESS it
goes through the pages of `fathom serve` as a reader would.
"""
import json
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

READY = "html[data-state=ready]"

# The figures of a drawing. Positions in equal steps have only their start and step.
READ_CHART = """const readChart = figure => {
    const chart = JSON.parse(figure.querySelector('script.figure').textContent);
    for (const one of chart.series ?? []) {
        const { start, step } = one.x;
        if (step) one.x = one.y.map((_, at) => start + at * step);
    }
    return chart;
};
"""

# The figures beside each drawing.
FIGURES = "() => {" + READ_CHART + """return Object.fromEntries([...document.querySelectorAll('figure.chart')].map(figure => {
    const chart = readChart(figure);
    const series = chart.heat ? [{ name: null, x: chart.heat.x, y: chart.heat.y, values: chart.heat.z }]
        : chart.series.map(one => ({ name: one.name, x: one.x, y: one.y, values: null }));
    return [chart.id, series];
}))}"""

# Charts with a line whose ends are not drawn where their figures are, by the ends of the axis that the drawing names.
MISPLACED = "() => {" + READ_CHART + """return [...document.querySelectorAll('figure.chart')].filter(figure => {
    const chart = readChart(figure), plot = figure.querySelector('svg.plot');
    if (chart.heat) return !figure.querySelector('g.heat path');
    // A chart of rows has no axis for all of them.
    if (!plot.dataset.x) return !plot.querySelector('path, rect, line, circle');
    const [low, high] = plot.dataset.x.split(' ').map(Number), width = Number(plot.dataset.area.split(' ')[2]);
    return chart.series.some((series, index) => {
        const path = plot.querySelector(`svg.area g[data-series="${index}"] path:not(.band)`);
        if (!path) return true;
        if (!['line', 'points', 'dots'].includes(series.form) || typeof series.x[0] === 'string') return false;
        const at = [...path.getAttribute('d').matchAll(/[ML]([-\\d.]+) /g)].map(found => Number(found[1]));
        const there = series.x.filter((x, place) => series.y[place] !== null).map(x => ((chart.x.scale === 'log' ? Math.log10(x) : x) - low) / (high - low) * width);
        return [0, -1].some(end => Math.abs(at.at(end) - there.at(end)) > 1);
    });
}).map(figure => figure.id)}"""


# Rows of charts that leave a quarter of the page's width empty.
UNFILLED = """() => [...document.querySelectorAll('.charts')].filter(charts => charts.checkVisibility()).flatMap(charts => {
    const frame = charts.getBoundingClientRect(), last = charts.lastElementChild.getBoundingClientRect();
    const drawn = [...charts.querySelectorAll('.drawing')].map(drawing => drawing.getBoundingClientRect().right).sort((a, b) => a - b).at(-1);
    return frame.right - last.right > 2 || frame.right - drawn > frame.width / 3 ? [charts.lastElementChild.id] : [];
})"""

# Texts of drawings that overlap.
OVERLAPPING = """() => [...document.querySelectorAll('svg.plot')].filter(plot => plot.checkVisibility()).flatMap(plot => {
    const texts = [...plot.querySelectorAll('text')].filter(text => getComputedStyle(text).visibility !== 'hidden').map(text => [text.textContent, text.getBoundingClientRect()]);
    const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
    return texts.flatMap(([words, one], index) => texts.slice(0, index).filter(([, other]) => meet(one, other)).map(([others]) => `${plot.closest('figure').id}: ${words} | ${others}`));
})"""

# Tables that scroll sideways without a sign of it.
UNCUED = """() => [...document.querySelectorAll('.scrolls')].filter(part => part.scrollWidth > part.clientWidth + 1
    && getComputedStyle(part).backgroundImage === 'none').map(part => part.getAttribute('aria-label'))"""


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
    page.screenshot(path=f"{artefacts}/{Path(path).stem}-first.png")
    seen["state"] = page.evaluate("document.documentElement.dataset.state")
    seen["title"] = page.title()
    seen["answer"] = answer(page)
    seen["evil"] = page.evaluate("window.evil === undefined ? null : String(window.evil)")
    seen["charts"] = page.evaluate(FIGURES)
    seen["misplaced"] = page.evaluate(MISPLACED)
    seen["unfilled"] = page.evaluate(UNFILLED)
    seen["overlapping"] = page.evaluate(OVERLAPPING)
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
    seen["overlapping"] += page.evaluate(OVERLAPPING)
    seen["uncued"] = page.evaluate(UNCUED)
    page.screenshot(path=f"{artefacts}/{Path(path).stem}-phone-dark.png")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1200, "height": 900})
    printed = page.pdf(format="A4")
    seen["printed_bytes"] = len(printed)
    seen["printed_pages"] = printed.count(b"/Type /Page\n")
    context.close()
    seen["drawn_without_script"] = without_script(browser, path)
    return seen


def answer(page):
    """The first screen; what keeps a unit with its number is a space to the reader."""
    return page.inner_text("#answer").replace("\u00a0", " ")


def without_script(browser, path):
    """How many charts are drawn, and how many of those on the first screen lie wholly within 1280 by 800 pixels."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto(Path(path).as_uri())
    frames = [plot.bounding_box() for plot in page.query_selector_all("svg.plot")]
    page.screenshot(path=f"{Path(path).with_suffix('')}-no-script.png")
    context.close()
    drawn = [frame for frame in frames if frame and frame["height"] > 100]
    return [len(drawn), sum(frame["y"] + frame["height"] <= 800 for frame in drawn)]


def once(page, ask, holds, longest=10):
    """What is there as soon as it is as it should be, or after so many seconds: a page needs its time, and a busy machine more of it."""
    end = time.monotonic() + longest
    while not holds(now := ask()) and time.monotonic() < end:
        page.wait_for_timeout(50)
    return now


def first(page, beside):
    """The first visible chart that has this beside its drawing, near enough to be used."""
    for figure in page.query_selector_all("figure.chart"):
        if figure.query_selector(beside) and not figure.query_selector("g.heat") and figure.is_visible():
            figure.scroll_into_view_if_needed()
            figure.wait_for_selector(".tip", state="attached")
            return figure
    return None


def hover(page):
    """The words beside a point, with its exact value."""
    figure = first(page, "svg.area")
    area = figure.query_selector("svg.plot").bounding_box()
    page.mouse.move(area["x"] + area["width"] * 0.5, area["y"] + area["height"] * 0.5)
    tip = figure.wait_for_selector(".tip:not([hidden])", timeout=5000)
    return tip.text_content()


def toggle(page):
    """A series is taken out and put back with the keyboard alone."""
    figure = first(page, ".legend li")
    if figure is None:
        return None
    box = figure.wait_for_selector(".legend input")
    shown = "figure => [...figure.querySelectorAll('svg.area g[data-series]')].map(series => getComputedStyle(series).visibility === 'visible')"
    box.focus()
    now = lambda: figure.evaluate(shown)
    before = now()
    page.keyboard.press("Space")
    without = once(page, now, lambda shown: shown != before)
    page.keyboard.press("Space")
    return [before, without, once(page, now, lambda shown: shown == before)]


def zoom(page):
    """Dragging over a part of a chart shows that part."""
    figure = first(page, "svg.area")
    extent = "figure => figure.querySelector('svg.plot').dataset.shown.split(' ').map(Number)"
    before = figure.evaluate(extent)
    area = figure.query_selector("svg.plot").bounding_box()
    middle = area["y"] + area["height"] / 2
    page.mouse.move(area["x"] + area["width"] * 0.4, middle)
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] * 0.7, middle, steps=8)
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
    seen["entry"] = [page.evaluate("document.documentElement.dataset.state"), page.locator("figure.chart").count(), answer(page)]
    page.go_back()
    for box in page.query_selector_all("input[name=entry]"):
        box.check()
    page.click("text=Compare selected entries")
    page.wait_for_selector(READY, state="attached", timeout=60000)
    seen["compared"] = answer(page)
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
