"""Colours as people see them."""


def contrast(a, b):
    """The contrast of two colours '#rrggbb', from 1 to 21: (L1 + 0.05) / (L2 + 0.05).

    Source: W3C, Web Content Accessibility Guidelines 2.2, "contrast ratio".
    """
    lighter, darker = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour):
    shares = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
    return sum(part * c for part, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
