"""Rows out of spreadsheets, HTML, XML and JSON: values as stored, places right, and nothing hostile gets in."""

import io
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from retro.errors import InputError
from retro.ingest.rows import html, json, json_text, xlsx, xml
from retro.ingest.rows.row import GridRow, Row
from retro.model import Fault

RELATIONS = '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>'
WORKBOOK = (
    '<workbook><sheets><sheet name="Report" sheetId="1" r:id="r1" xmlns:r="urn:r"/></sheets></workbook>'
)
TEXTS = "<sst><si><t>Time</t></si><si><r><t>Pri</t></r><r><t>ce</t></r><rPh><t>x</t></rPh></si></sst>"


def workbook(
    path: Path, sheet: str, *, texts: str = TEXTS, encoding: str = "utf-8", bom: bytes = b""
) -> Path:
    parts = {
        "xl/_rels/workbook.xml.rels": RELATIONS,
        "xl/workbook.xml": WORKBOOK,
        "xl/sharedStrings.xml": texts,
        "xl/worksheets/sheet1.xml": sheet,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, bom + text.encode(encoding))
    return path


SHEET = """<worksheet><sheetData>
 <row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>
 <row r="3"><c r="A3" t="inlineStr"><is><r><t>2025.04.16 </t></r><r><t>11:41:08</t></r></is></c><c r="B3"/>
  <c r="C3"><f>1+1</f><v>1.140860</v></c><c r="D3" t="b"><v>1</v></c><c r="E3" t="e"><v>#N/A</v></c></row>
</sheetData></worksheet>"""


@pytest.mark.parametrize(
    ("encoding", "bom"), [("utf-8", b""), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")]
)
def test_a_sheet_is_read_by_place_with_texts_values_and_cached_formulas(
    tmp_path: Path, encoding: str, bom: bytes
) -> None:
    path = workbook(tmp_path / "r.xlsx", SHEET, encoding=encoding, bom=bom)
    assert xlsx.sheets(path) == ("Report",)
    assert list(xlsx.grid(path)) == [
        GridRow(1, ("Time", "", "Price")),
        GridRow(3, ("2025.04.16 11:41:08", "", "1.140860", "TRUE", "#N/A")),
    ]
    assert list(xlsx.rows(path, "Report")) == [Row(3, {"Time": "2025.04.16 11:41:08", "Price": "1.140860"})]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ('<c r="B2"><f>A1*2</f></c>', "B2 is a formula without its value; open the file and save it once"),
        ('<c r="B2" t="s"><v>9</v></c>', "B2 names a text that is not there"),
        ('<c r="ZZZ2"><v>9</v></c>', "ZZZ2 lies beyond the last column"),
        ("<c r='A1'><v>1</v></row>", "it is no sound XML"),
    ],
)
def test_a_cell_that_tells_no_value_is_refused_by_name(tmp_path: Path, cell: str, message: str) -> None:
    path = workbook(
        tmp_path / "r.xlsx", f"<worksheet><sheetData><row r='2'>{cell}</row></sheetData></worksheet>"
    )
    with pytest.raises(InputError, match=message) as refused:
        list(xlsx.grid(path))
    assert str(path) in str(refused.value)


HOSTILE = (
    '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]><worksheet>&a;&b;</worksheet>'
)


def test_entities_document_types_depth_and_bombs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.xlsx"
    with pytest.raises(InputError, match="declares a document type or an entity"):
        list(xlsx.grid(workbook(path, HOSTILE)))
    with pytest.raises(InputError, match="more than 100 deep"):
        list(xlsx.grid(workbook(path, "<a>" * 101)))
    with pytest.raises(InputError, match="unfolds more than 250-fold"):
        list(xlsx.grid(workbook(path, "<worksheet><a/>" + " " * (40 << 20) + "</worksheet>")))
    with pytest.raises(InputError, match="piece of markup is longer than"):
        list(xml.elements(io.BytesIO(b"<a b='" + b"x" * (9 << 20)), frozenset()))
    with pytest.raises(InputError, match="its encoding cannot be read"):
        list(xml.elements(io.BytesIO(b"<?xml version='1.0' encoding='nonsense'?><a/>"), frozenset({"a"})))


def test_what_is_no_workbook_is_refused_in_one_sentence(tmp_path: Path) -> None:
    text = tmp_path / "r.xlsx"
    text.write_bytes(b"\xd0\xcf\x11\xe0 an old or locked one")
    with pytest.raises(InputError, match="is no readable zip archive"):
        list(xlsx.grid(text))
    with zipfile.ZipFile(text, "w") as archive:
        archive.writestr("notes.txt", "no sheet")
    with pytest.raises(InputError, match="a zip archive without a workbook"):
        xlsx.sheets(text)
    with pytest.raises(InputError, match=r"has no sheet 'Fills'; it has 'Report'"):
        list(xlsx.grid(workbook(tmp_path / "ok.xlsx", SHEET), "Fills"))
    whole = workbook(tmp_path / "ok.xlsx", SHEET).read_bytes()
    for cut in range(0, len(whole), 97):
        text.write_bytes(whole[:cut] + whole[cut + 5 :])
        try:
            list(xlsx.grid(text))
        except InputError:
            continue


def test_memory_does_not_grow_with_the_sheet(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        body = "".join(f'<row r="{n}">\n <c r="A{n}"><v>{n}.5</v></c>\n</row>\n' for n in range(1, count + 1))
        path = workbook(tmp_path / f"{count}.xlsx", f"<worksheet><sheetData>{body}</sheetData></worksheet>")
        tracemalloc.start()
        assert sum(1 for _row in xlsx.grid(path)) == count
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    assert peak(16_000) < 1.2 * peak(4_000)


PAGE = """<html><head><title>x</title><style>td { a }</style></head><table>
<tr><th colspan="3"><div><b>Positions</b></div></th></tr>
<tr><td>Time</td><td class="hidden" colspan="8"></td><td>Price</td><td>Time</td>
<tr><td title="#8002 nine[sl]">1 &amp; 2</td><td class="hidden" colspan="8">of the fast one</td><td>10&nbsp;000.00<td><script>alert(1)</script>b</tr>
<tr><td colspan=3></td></tr>
<tr><th>Deals</th></tr>
<tr><td>torn"""


def test_a_page_is_read_by_place_with_spans_titles_and_hidden_cells(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    for text in (PAGE.encode(), PAGE.encode("utf-16"), PAGE.encode("utf-16-le")):
        path.write_bytes(text)
        assert [row.cells for row in html.grid(path)] == [
            ("Positions", "", ""),
            ("Time", "Price", "Time"),
            ("1 & 2", "10 000.00", "b"),
            ("", "", ""),
            ("Deals",),
        ]
        assert [row.title for row in html.grid(path)][2] == "#8002 nine[sl]"
        assert [dict(row.cells) for row in html.rows(path, section="Positions")] == [
            {"Time": "1 & 2", "Price": "10 000.00", "Time.2": "b"}
        ]


def test_a_code_page_is_what_the_caller_says(tmp_path: Path) -> None:
    path = tmp_path / "Statement.htm"
    path.write_bytes("<table><tr><td>Закрытые</td></tr></table>".encode("cp1251"))
    assert html.encoding_of(path) is None
    assert [row.cells for row in html.grid(path, "cp1251")] == [("Закрытые",)]


def test_a_page_of_one_endless_tag_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    for piece in (b"<a href='", b"<!--", b"<a <a <"):
        path.write_bytes(b"<table><tr><td>" + piece + b"x" * (2 << 20))
        with pytest.raises(InputError, match="longer than 1 MiB"):
            list(html.grid(path))
    path.write_bytes(b"<table><tr>" + b"<td>" * 5_000)
    with pytest.raises(InputError, match="more than 2000 cells"):
        list(html.grid(path))


def test_xml_elements_are_rows_with_what_they_stand_in(tmp_path: Path) -> None:
    path = tmp_path / "flex.xml"
    path.write_text(
        '<q><s accountId="U1"><Trades>\n<Trade id="1" price="2.5"/>\n<Trade id="2"><note>a</note></Trade></Trades></s></q>'
    )
    assert list(xml.rows(path, "Trade")) == [
        Row(2, {"id": "1", "price": "2.5", "s.accountId": "U1"}),
        Row(3, {"note": "a", "id": "2", "s.accountId": "U1"}),
    ]
    path.write_text("<q><s")
    with pytest.raises(InputError, match=r"flex\.xml: line 1: it is no sound XML"):
        list(xml.rows(path, "Trade"))


DOCUMENT = '\ufeff {"x": {"y": [1, "}"]}, "trades" : [ {"id": 1, "px": 1.50, "t": "\\u00e4\\"]é€"} ,{"id": {}}, 7 ], "z": null}'


@pytest.mark.parametrize("chunk", [1, 3, 64, 1 << 18])
def test_a_document_is_read_entry_by_entry_wherever_its_stretches_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(json_text, "_CHUNK", chunk)
    path = tmp_path / "d.json"
    path.write_text(DOCUMENT, encoding="utf-8")
    first = Row(1, {"id": 1, "px": "1.50", "t": 'ä"]é€'})
    wrong = Fault(str(path), 3, "row: is no JSON object")
    assert list(json.rows(str(path), "$.trades[*]")) == [first, Row(2, {"id": {}}), wrong]
    assert list(json.rows(str(path), "$.trades[1].id[*]")) == []
    assert list(json.rows(str(path), "$.x")) == [Row(1, {"y": [1, "}"]})]
    assert list(json.rows(str(path), "$.x[*]")) == [Row(1, {"key": "y", "value": [1, "}"]})]
    assert [row.line for row in json.rows(str(path))] == [1]
    for place in ("$.trades[3]", "$.x[0]", "$.trades.id", "$.w"):
        with pytest.raises(InputError, match="on the way to"):
            list(json.rows(str(path), place))
    with pytest.raises(InputError, match=r"at \$\.z stands no list"):
        list(json.rows(str(path), "$.z"))


@pytest.mark.parametrize(
    "text",
    [b"", b"x", b"[{}", b"[{},]", b"[{} {}]", b"[] []", b"{} {}", b'[{"a": "\xff"}]', b'[{"a": "\\ud800"}]', b"[" * 9999, b"[NaN]", b'{"a" 1}'],
)  # fmt: skip
def test_what_is_no_json_is_refused_in_one_sentence(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "d.json"
    path.write_bytes(text)
    with pytest.raises(InputError, match=r"d\.json is not JSON \(.*; write it again"):
        list(json.rows(str(path)))


def test_memory_does_not_grow_with_the_document(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text("[" + ",".join(['{"id": "' + "x" * 4000 + '"}'] * 2000) + "]")
    tracemalloc.start()
    assert sum(1 for _ in json.rows(str(path))) == 2000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 << 20
