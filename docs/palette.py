"""PNG files of at most 256 colours: pictures of pages have few more, and are half as large and less with a palette."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from playwright.sync_api import Page

_PIXELS = """
async png => {
    const bytes = Uint8Array.from(atob(png), sign => sign.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const pixels = context.getImageData(0, 0, image.width, image.height).data;
    let text = '';
    for (let at = 0; at < pixels.length; at += 32768)
        text += String.fromCharCode(...pixels.subarray(at, at + 32768));
    return [image.width, image.height, btoa(text)];
}
"""


def reduced(page: Page, png: bytes) -> bytes:
    """The picture with its 256 most frequent colours, and the nearest of them for all others. `page`: any page."""
    width, height, text = page.evaluate(_PIXELS, base64.b64encode(png).decode())
    pixels = np.frombuffer(base64.b64decode(text), np.uint8).reshape(height * width, 4)[:, :3].astype(np.int32)
    colours, place, count = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    palette = colours[np.argsort(-count, kind="stable")[:256]]
    nearest = np.concatenate([_nearest(part, palette) for part in np.array_split(colours, 1 + len(colours) // 4096)])
    rows = nearest[place.reshape(-1)].reshape(height, width)
    body = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = {b"IHDR": head, b"PLTE": palette.astype(np.uint8).tobytes(), b"IDAT": zlib.compress(body, 9), b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks.items())


def _nearest(colours: np.ndarray, palette: np.ndarray) -> np.ndarray:
    distances = ((colours[:, None, :] - palette[None, :, :]) ** 2).sum(axis=2)
    return distances.argmin(axis=1).astype(np.uint8)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
