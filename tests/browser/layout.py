"""What is wrong with a page's layout as it stands: too wide for its window, words over words, buttons without room."""

from playwright.sync_api import Page

SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

# Buttons whose words are wider than they are, or that a row has squeezed to a tower of words.
CRAMPED = """() => [...document.querySelectorAll("main button, main .button")].filter((one) => one.checkVisibility()
    && one.clientWidth && (one.scrollWidth > one.clientWidth + 1 || one.clientHeight > 2 * one.clientWidth))
    .map((one) => one.textContent.trim())"""

# Pairs of texts that lie over each other, as far as they are not cut off; bars that stay put lie over the page by
# design, and drawings place their words themselves.
OVERLAPPING = """() => {
    const lines = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const stays = (one) => one.closest("svg, math, .visually-hidden, option, textarea, script, style, noscript");
    while (walker.nextNode()) {
        const text = walker.currentNode, parent = text.parentElement;
        if (!text.textContent.trim() || stays(parent)) continue;
        if (!parent.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
        const cuts = [];
        let above = parent, fixed = false;
        for (; above; above = above.parentElement) {
            const style = getComputedStyle(above);
            fixed ||= style.position === "fixed" || style.position === "sticky";
            const cut = style.overflowX !== "visible" || style.overflowY !== "visible";
            if (cut) cuts.push(above.getBoundingClientRect());
        }
        if (fixed) continue;
        const range = document.createRange();
        range.selectNodeContents(text);
        for (const box of range.getClientRects()) {
            const all = [box, ...cuts];
            const left = Math.max(...all.map((one) => one.left)), right = Math.min(...all.map((one) => one.right));
            const top = Math.max(...all.map((one) => one.top)), bottom = Math.min(...all.map((one) => one.bottom));
            if (right - left > 2 && bottom - top > 2) lines.push({text, left, right, top, bottom});
        }
    }
    const words = (one) => one.text.textContent.trim().slice(0, 40);
    const found = new Set();
    lines.forEach((one, n) => lines.slice(n + 1).forEach((other) => {
        if (one.text === other.text) return;
        const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
        const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
        if (across > 3 && down > 5) found.add(`“${words(one)}” and “${words(other)}” lie over each other`);
    }));
    return [...found].slice(0, 5);
}"""


def layout_faults(page: Page) -> list[str]:
    """Return what is wrong, in words; of overlaps the first five."""
    page.wait_for_load_state()  # a page that has just come has no element yet
    by = page.evaluate(SIDEWAYS)
    wide = [f"{by} pixels wider than its window"] if by > 0 else []
    return wide + [f"no room for “{words}”" for words in page.evaluate(CRAMPED)] + page.evaluate(OVERLAPPING)
