"""picture_boxes_test.py PICTURE_DRAW COUNT: draws that many plans (2 to 60 sites, one to eight trees, long names) and
checks where the texts of their pictures stand: none on another one, on a line or over the border of a box or of the
page.

Boxes of texts are those of the widest usual monospace font: 0.61 of the font's size for each letter, 0.95 above the
line that it stands on and 0.25 below.
"""
import random
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"
LETTER, ABOVE, BELOW = 0.61, 0.95, 0.25
SMALLEST_FONT = 11  # pixels: what is legible without a lens
KINDS = ("star", "chain", "random", "mixed")
TITLE = 'job <films> & "rushes"'
CURVE_POINTS = 24


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def inside(inner, outer):
    return outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def font_sizes(root):
    style = root.find(SVG + "style").text
    sizes = {name: float(size) for name, size in re.findall(r"\.(\w+)\{font-size:([\d.]+)px", style)}
    return sizes, float(root.get("font-size"))


def text_box(text, sizes, usual):
    size = next((sizes[name] for name in text.get("class", "").split() if name in sizes), usual)
    width, x, y = len(text.text) * LETTER * size, float(text.get("x")), float(text.get("y"))
    left = x - {"start": 0, "middle": width / 2, "end": width}[text.get("text-anchor", "start")]
    return (left, y - ABOVE * size, left + width, y + BELOW * size), size


def rect_box(rect):
    x, y, width, height = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def path_pieces(path):
    """Boxes of the straight pieces that the path is made of: M x y, then C, H, V and h."""
    points, at = [], None
    for command, words in re.findall(r"([MCHVh])([\d. ]+)", path.get("d")):
        values = [float(word) for word in words.split()]
        if command == "C":
            a, b, c, d = at, values[0:2], values[2:4], values[4:6]
            for step in range(1, CURVE_POINTS):
                t = step / CURVE_POINTS
                weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3)
                points.append(tuple(sum(w * p[axis] for w, p in zip(weights, (a, b, c, d))) for axis in (0, 1)))
            at = tuple(d)
        else:
            at = {"M": lambda v: tuple(v), "H": lambda v: (v[0], at[1]), "V": lambda v: (at[0], v[0]),
                  "h": lambda v: (at[0] + v[0], at[1])}[command](values)
        points.append(at)
    return [(min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]) + 0.01, max(a[1], b[1]) + 0.01)
            for a, b in zip(points, points[1:])]


class Rows:
    """Boxes by the strips of 64 pixels that they touch, so that a page of thousands is searched quickly."""
    STRIP = 64

    def __init__(self):
        self.strips = {}

    def keys(self, box):
        return range(int(box[1] // self.STRIP), int(box[3] // self.STRIP) + 1)

    def add(self, box, what):
        for key in self.keys(box):
            self.strips.setdefault(key, []).append((box, what))

    def touching(self, box):
        return [what for key in self.keys(box) for other, what in self.strips.get(key, ()) if overlap(box, other)]


def faults(picture):
    """What is wrong with the picture, in words."""
    root = ElementTree.fromstring(picture)
    page = tuple(float(word) for word in root.get("viewBox").split())
    sizes, usual = font_sizes(root)
    texts, lines, found = Rows(), Rows(), []
    boxes = [rect_box(rect) for rect in root.findall(SVG + "rect") if rect.get("x") is not None]
    rects = Rows()
    for box in boxes:
        if rects.touching(box):
            found.append(f"boxes overlap at {box}")
        rects.add(box, box)
    styled = set(re.findall(r"\.(\w+)\{", root.find(SVG + "style").text))
    for part in root.iter():
        found += [f"no style '{name}'" for name in part.get("class", "").split() if name not in styled]
    for path in root.findall(SVG + "path"):
        for piece in path_pieces(path):
            lines.add(piece, path.get("d"))
            found += [f"line {path.get('d')} over the page's border"] if not inside(piece, page) else []
            inner = (piece[0] + 1, piece[1] + 1, piece[2] - 1, piece[3] - 1)
            found += [f"line {path.get('d')} through box {box}" for box in rects.touching(inner)
                      if inner[0] < inner[2] or inner[1] < inner[3]]
    for text in root.findall(SVG + "text"):
        box, size = text_box(text, sizes, usual)
        found += [f"'{text.text}' on '{other}'" for other in texts.touching(box)]
        found += [f"'{text.text}' on line {other}" for other in lines.touching(box)]
        found += [f"'{text.text}' over the border of {other}" for other in rects.touching(box)
                  if not inside(box, other)]
        found += [f"'{text.text}' over the page's border"] if not inside(box, page) else []
        found += [f"'{text.text}' is {size} pixels high"] if size < SMALLEST_FONT else []
        texts.add(box, text.text)
    return found


class Boxes(unittest.TestCase):
    def draw(self, *words):
        return subprocess.run([DRAW, *(str(word) for word in words)], stdout=subprocess.PIPE, check=True).stdout

    def test_faults_are_seen(self):
        good = self.draw("svg", "random", 5, 1, 31, 1).decode()
        self.assertEqual(faults(good), [])
        self.assertTrue(any("over the page" in fault for fault in
                            faults(re.sub(r'viewBox="0 0 \d+', 'viewBox="0 0 300', good))))
        self.assertTrue(any("' on '" in fault for fault in
                            faults(good.replace(".small{font-size:11", ".small{font-size:19"))))
        self.assertTrue(any("over the border of" in fault for fault in
                            faults(good.replace('font-size="13"', 'font-size="16"'))))
        self.assertTrue(any("no style 'edge'" in fault for fault in faults(good.replace(".edge{", ".ege{"))))
        self.assertTrue(any("pixels high" in fault for fault in faults(good.replace("font-size:11", "font-size:9"))))

    def test_title_is_the_one_given(self):
        root = ElementTree.fromstring(self.draw("svg", "star", 2, 1, 5, 1))
        self.assertEqual(root.find(SVG + "text").text, TITLE)

    def test_texts_stand_alone(self):
        rng = random.Random(COUNT)
        for seed in range(COUNT):
            words = ("svg", KINDS[seed % len(KINDS)], rng.choice((2, 3, 5, 8, 15, 30, 60, rng.randint(2, 60))),
                     rng.choice((1, 1, 2, 3, 8)), rng.choice((4, 12, 31)), seed)
            with self.subTest(words=words):
                self.assertEqual(faults(self.draw(*words))[:5], [])


if __name__ == "__main__":
    DRAW, COUNT = sys.argv[1], int(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
