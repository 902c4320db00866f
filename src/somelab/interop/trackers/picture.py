"""A map of a layer's keys as a small image, drawn with numpy alone: a disc per key, in one fixed projection,
so that images of a run can be compared.

Shape letters: E experts, D model width, H, W height and width."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PIXELS = 240
BACKGROUND = np.array([250, 250, 252], dtype=np.float32)
UNUSED, USED = np.array([190, 196, 208], dtype=np.float32), np.array([214, 84, 35], dtype=np.float32)


class KeyPicture:
    """Draws keys in the plane in which they varied most at first."""

    def __init__(self, keys_ED: NDArray[np.float32]) -> None:
        centred_ED = keys_ED - keys_ED.mean(axis=0)
        _, _, axes_AD = np.linalg.svd(centred_ED, full_matrices=False)
        axes_AD = axes_AD[:2]
        largest_A1 = np.take_along_axis(axes_AD, np.abs(axes_AD).argmax(axis=1)[:, None], axis=1)
        self.axes_D2 = np.zeros((keys_ED.shape[1], 2), dtype=np.float32)
        self.axes_D2[:, : len(axes_AD)] = (axes_AD * np.sign(largest_A1)).T

    def draw(self, keys_ED: NDArray[np.float32], usage_E: NDArray[np.float32]) -> NDArray[np.uint8]:
        """[H, W, 3]. Colour and size of a disc show how much its expert is used."""
        place_E2 = (keys_ED - keys_ED.mean(axis=0)) @ self.axes_D2
        extent = float(np.abs(place_E2).max()) or 1.0
        pixel_E2 = (place_E2 / extent * 0.44 + 0.5) * PIXELS
        share_E = usage_E / (float(usage_E.max()) or 1.0)
        image = np.broadcast_to(BACKGROUND, (PIXELS, PIXELS, 3)).copy()
        rows_H1, columns_1W = np.ogrid[:PIXELS, :PIXELS]
        for expert in np.argsort(share_E):  # the most used on top
            share = float(share_E[expert])
            x, y = pixel_E2[expert]
            distance_HW = np.sqrt((columns_1W - x) ** 2 + (rows_H1 - (PIXELS - y)) ** 2)
            cover_HW1 = np.clip(2.0 + 4.0 * share - distance_HW, 0, 1)[..., None]
            image += cover_HW1 * (UNUSED + share * (USED - UNUSED) - image)
        return image.round().astype(np.uint8)
