"""Draws the photos of the demo's comments: ``python -m tests.features.demo.photo_files``.

Each photo shows a product of ``products.svg`` in a room or outdoors, with light, shadow and grain.
"""

import asyncio
import re
from base64 import b64decode

from playwright.async_api import Page, async_playwright

from tests.browser.conftest import CHROMIUM
from tests.engines import ROOT

STATIC = ROOT / "pages/static"

_WINDOW = (
    '<rect x="{x}" y="30" width="190" height="230" fill="#fff" opacity=".9"/>'
    '<rect x="{x}" y="30" width="190" height="230" fill="none" stroke="#cdbfa8" stroke-width="14"/>'
    '<path d="M{middle} 30v230M{x} 150h190" stroke="#cdbfa8" stroke-width="9"/>'
)
_HILLS = (
    '<path d="M0 250L120 120L210 220L330 90L470 240L560 170L640 230V330H0z" fill="#7f97a8"/>'
    '<path d="M0 300C160 230 300 290 420 250S600 270 640 250V400H0z" fill="#6b8f5e"/>'
)
_RAIN = "".join(
    f'<path d="M{x * 53 % 640} {x * 97 % 420}l-10 34" stroke="#e8f1f5" stroke-width="3"/>'
    for x in range(60)
)
_STEAM = (
    '<g fill="none" stroke="#fff" stroke-width="16" stroke-linecap="round" opacity=".6">'
    '<path d="M232 150c-26-30 22-50-6-92"/><path d="M262 140c-22-30 24-44 2-84"/></g>'
)
_BOOKS = "".join(
    f'<rect x="{x}" y="{y}" width="26" height="{250 - y}" fill="{fill}"/>'
    for x, y, fill in (
        (410, 96, "#7a2e5d"), (438, 116, "#3a6145"), (466, 84, "#b4552d"), (494, 108, "#27384d"),
        (522, 92, "#e0a437"), (550, 120, "#46617f"),
    )
)  # fmt: skip

SCENES = {
    # name: the product's title, wall, ground, the room, place, size, angle, light
    "kettle-stove": ("A kettle", "#e8e2d6", "#4b4a4d", _WINDOW, (190, 95), 1.75, 0, _STEAM),
    "kettle-table": ("A kettle", "#c9d6cf", "#a9793f", _BOOKS, (70, 75), 1.9, -4, ""),
    "kettle-large-window": ("A large kettle", "#efe3cf", "#8d5a33", _WINDOW, (200, 90), 1.8, 0, ""),
    "headphones-desk": ("Headphones", "#b9c4d2", "#9a7448", _BOOKS, (80, 120), 1.6, 14, ""),
    "backpack-hike": ("A backpack", "#bfe0f2", "#8a7a55", _HILLS, (215, 100), 1.75, -3, ""),
    "lamp-evening": ("A desk lamp", "#30283c", "#54371f", _BOOKS, (110, 80), 1.85, 0, "glow"),
    "shoes-trail": ("A running shoe", "#cfe3ea", "#7b6a4a", _HILLS, (150, 120), 1.75, -8, ""),
    "umbrella-rain": ("An umbrella", "#74858f", "#4d585e", _RAIN, (170, 80), 1.7, 16, _RAIN),
    "game-night": ("A board game", "#5b3b33", "#7d4a2a", "", (110, 70), 2.1, 0, "glow"),
}

_DRAWN = """async svg => {
    const picture = new Image(640, 480);
    picture.src = "data:image/svg+xml," + encodeURIComponent(svg);
    await picture.decode();
    const canvas = new OffscreenCanvas(640, 480);
    canvas.getContext("2d").drawImage(picture, 0, 0, 640, 480);
    const blob = await canvas.convertToBlob({type: "image/webp", quality: 0.72});
    const bytes = new Uint8Array(await blob.arrayBuffer());
    return btoa(Array.from(bytes, one => String.fromCharCode(one)).join(""));
}"""


def scene(name: str) -> str:
    """Return the SVG of a scene."""
    title, wall, ground, room, (x, y), size, angle, light = SCENES[name]
    products = (STATIC / "products.svg").read_text("utf-8")
    (drawn,) = re.findall(rf"<title>{title}</title>\n.*\n.*\n((?:    .*\n)+?)  </svg>", products)
    glow = '<ellipse cx="270" cy="240" rx="330" ry="260" fill="url(#warm)"/>'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 480">
  <defs>
    <filter id="far"><feGaussianBlur stdDeviation="5"/></filter>
    <filter id="soft"><feGaussianBlur stdDeviation="9"/></filter>
    <filter id="grain"><feTurbulence baseFrequency=".8" numOctaves="2" seed="51"/>
      <feColorMatrix values="0 0 0 0 .5 0 0 0 0 .5 0 0 0 0 .5 0 0 0 .3 0"/></filter>
    <filter id="wood"><feTurbulence baseFrequency=".006 .22" numOctaves="3" seed="7"/>
      <feColorMatrix values="0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 .5 0 0 0 -.1"/></filter>
    <linearGradient id="day" x1="1" y1="0" x2="0" y2="1">
      <stop stop-color="#fff" stop-opacity=".5"/><stop offset="1" stop-opacity=".35"/>
    </linearGradient>
    <radialGradient id="warm">
      <stop stop-color="#ffd27a" stop-opacity=".65"/>
      <stop offset="1" stop-color="#ffd27a" stop-opacity="0"/>
    </radialGradient>
    <radialGradient id="edge" r=".75">
      <stop offset=".6" stop-opacity="0"/><stop offset="1" stop-opacity=".45"/>
    </radialGradient>
  </defs>
  <rect width="640" height="480" fill="{wall}"/>
  <g filter="url(#far)">{room.format(x=400, middle=495)}</g>
  <rect y="330" width="640" height="150" fill="{ground}"/>
  <rect y="330" width="640" height="150" filter="url(#wood)"/>
  {glow if light == "glow" else ""}
  <ellipse cx="{x + 105 * size}" cy="{y + 165 * size}" rx="{88 * size}" ry="{10 * size}"
    opacity=".55" filter="url(#soft)"/>
  <g transform="translate({x} {y}) scale({size}) rotate({angle} 100 160)">{drawn}</g>
  {"" if light == "glow" else f'<g filter="url(#far)">{light}</g>'}
  <rect width="640" height="480" fill="url(#day)" opacity="{0.3 if light == "glow" else 0.8}"/>
  <rect width="640" height="480" fill="url(#edge)"/>
  <rect width="640" height="480" filter="url(#grain)" opacity=".22"/>
</svg>"""


async def _draw(page: Page, name: str) -> None:
    drawn = await page.evaluate(_DRAWN, scene(name))
    (STATIC / f"photo-{name}.webp").write_bytes(b64decode(drawn))


async def main() -> None:
    """Write each scene as a WebP file."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = await browser.new_page()
        for name in SCENES:
            await _draw(page, name)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
