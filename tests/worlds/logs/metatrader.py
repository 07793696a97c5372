"""Reports such as MetaTrader's terminals save: XLSX with parts in UTF-16, HTML with hidden cells, statements in code pages."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

HEAD: Final = (
    ("Trade History Report",),
    ("Name:", "", "", "Nobody"),
    ("Account:", "", "", "10000009 (USD, Broker-Demo, demo, Hedge)"),
    ("Date:", "", "", "2026.05.15 18:14"),
)
POSITIONS: Final = (
    ("Positions",),
    ("Time", "Position", "Symbol", "Type", "Volume", "Price", "S / L", "T / P", "Time", "Price", "Commission", "Swap", "Profit"),
    ("2026.05.04 10:00:00", "501", "EURUSD.Z", "buy", "0.1", "1.10000", "", "1.10500", "2026.05.05 12:00:00", "1.10500", "-0.70", "-0.30", "50.00"),
    ("2026.05.06 10:00:00", "502", "EURAUD.Z", "sell", "0.1", "1.78000", "1.79000", "", "2026.05.07 12:00:00", "1.79000", "0.00", "0.00", "-65.09"),
)  # fmt: skip
ORDERS: Final = (
    ("Orders",),
    ("Open Time", "Order", "Symbol", "Type", "Volume", "Price", "S / L", "T / P", "Time", "State", "", "Comment"),
    ("2026.05.04 10:00:00", "501", "EURUSD.Z", "buy", "0.1 / 0.1", "market", "", "1.10500", "2026.05.04 10:00:00", "filled", "", "breakout"),
    ("2026.05.04 11:00:00", "777", "EURUSD.Z", "buy limit", "1 / 0", "1.00000", "", "", "2026.05.04 12:00:00", "canceled"),
)  # fmt: skip
DEALS: Final = (
    ("Deals",),
    ("Time", "Deal", "Symbol", "Type", "Direction", "Volume", "Price", "Order", "Commission", "Fee", "Swap", "Profit", "Balance", "Comment"),
    ("2026.05.01 09:00:00", "900", "", "balance", "", "", "", "", "0", "0", "0", "1 000.00", "1 000.00", "Deposit"),
    ("2026.05.04 10:00:00", "901", "EURUSD.Z", "buy", "in", "0.1", "1.10000", "501", "-0.35", "0.00", "0.00", "0.00", "999.65", "breakout"),
    ("2026.05.05 12:00:00", "902", "EURUSD.Z", "sell", "out", "0.1", "1.10500", "601", "-0.35", "0.00", "-0.30", "50.00", "1 049.00", "[tp 1.10500]"),
    ("2026.05.06 10:00:00", "903", "EURAUD.Z", "sell", "in", "0.1", "1.78000", "502", "0.00", "0.00", "0.00", "0.00", "1 049.00"),
    ("2026.05.07 12:00:00", "904", "EURAUD.Z", "buy", "out", "0.1", "1.79000", "602", "0.00", "0.00", "0.00", "-65.09", "983.91", "[sl 1.79000]"),
    ("2026.05.08 09:00:00", "905", "", "balance", "", "", "", "", "0", "0", "0", "-100.00", "883.91", "Withdrawal"),
    ("", "", "", "", "", "", "", "", "-0.700000", "0.000000", "-0.300000", "884.91", "883.91"),
)  # fmt: skip
OPEN: Final = (
    ("Open Positions",),
    ("Time", "Position", "Symbol", "Type", "Volume", "Price", "S / L", "T / P", "Market Price", "Swap", "", "Profit", "Comment"),
    ("2026.05.12 16:33:16", "503", "NZDUSD.Z", "buy", "0.01", "0.58880", "", "", "0.58643", "0.00", "", "-2.37", "by hand"),
)  # fmt: skip
ACCOUNT: Final = (*HEAD, *POSITIONS, *ORDERS, *DEALS, *OPEN)

TESTER: Final = (
    ("Strategy Tester Report",),
    ("Expert:", "", "", "Mean Reverter"),
    ("Currency:", "", "", "USD"),
    ("Deals",),
    ("Time", "Deal", "Symbol", "Type", "Direction", "Volume", "Price", "Order", "Commission", "Swap", "Profit", "Balance", "Comment"),
    ("2026.01.01 00:00:00", "1", "", "balance", "", "", "", "", "0.00", "0.00", "10 000.00", "10 000.00", ""),
    ("2026.01.05 10:00:00", "2", "EURUSD", "buy", "in", "0.2", "1.10000", "2", "-1.00", "0.00", "0.00", "9 999.00", "dip"),
    ("2026.01.05 10:30:00", "3", "EURUSD", "sell", "in", "0.1", "1.10100", "3", "-0.50", "0.00", "0.00", "9 998.50", "peak"),
    ("2026.01.05 11:00:00", "4", "EURUSD", "sell", "out", "0.1", "1.10200", "4", "-0.50", "0.00", "20.00", "10 018.00", ""),
    ("2026.01.05 12:00:00", "5", "EURUSD", "sell", "out", "0.1", "1.09900", "5", "-0.50", "-0.20", "-10.00", "10 007.30", "sl 1.09900"),
    ("2026.01.05 13:00:00", "6", "EURUSD", "buy", "out", "0.1", "1.10000", "6", "-0.50", "0.00", "10.00", "10 016.80", "[tp 1.10000]"),
)  # fmt: skip

Grid = Sequence[Sequence[str]]


def xlsx(path: Path, grid: Grid) -> Path:
    """A workbook as the terminal saves it: every part is UTF-16 with a byte order mark."""
    texts = list(dict.fromkeys(cell for row in grid for cell in row))
    places = {text: place for place, text in enumerate(texts)}
    body = "".join(
        f'<row r="{number}">'
        + "".join(f'<c r="{chr(65 + column)}{number}" t="s"><v>{places[cell]}</v></c>' for column, cell in enumerate(row) if cell)
        + "</row>"
        for number, row in enumerate(grid, 1)
    )  # fmt: skip
    parts = {
        "xl/_rels/workbook.xml.rels": '<R><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></R>',
        "xl/workbook.xml": '<workbook xmlns:r="r"><sheets><sheet name="Sheet1" r:id="rId1"/></sheets></workbook>',
        "xl/sharedStrings.xml": "<sst>"
        + "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)
        + "</sst>",
        "xl/worksheets/sheet1.xml": f"<worksheet><sheetData>{body}</sheetData></worksheet>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0"?>\n{text}'.encode("utf-16"))
    return path


def html(path: Path, grid: Grid, encoding: str = "utf-16") -> Path:
    """The same as a page: a cell that is hidden after the type of a closed position, headings in `th`."""
    rows = []
    for row in grid:
        tag = "th" if len(row) == 1 else "td"
        cells = [f"<{tag}>{escape(cell)}</{tag}>" for cell in row]
        if len(row) == 13 and row[1].isdigit() and row[8].count(".") == 2:
            cells.insert(4, '<td class="hidden" colspan="8">of the fast one</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    path.write_bytes(f"<html><body><table>\n{chr(10).join(rows)}\n</table></body></html>".encode(encoding))
    return path


STATEMENT: Final = """<html><head><title>Statement: 10000008</title></head><body><table>
<tr><td colspan=2><b>Account: 10000008</b></td><td colspan=5><b>{name}</b></td><td colspan=2><b>Currency: USD</b></td><td colspan=5>2026 May 28, 13:05</td></tr>
<tr><td colspan=13><b>{closed}</b></td></tr>
<tr><td>Ticket</td><td>Open Time</td><td>Type</td><td>Size</td><td>Item</td><td>Price</td><td>S / L</td><td>T / P</td><td>Close Time</td><td>Price</td><td>Commission</td><td>Taxes</td><td>Swap</td><td>Profit</td></tr>
<tr><td title="Deposit">40</td><td>2026.01.23 11:33:22</td><td>balance</td><td colspan=10>Deposit</td><td>10 000.00</td></tr>
<tr><td title="#8002 {expert}[sl]">41</td><td>2026.02.02 07:49:19</td><td>sell</td><td>1.00</td><td>xauusd</td><td>4537.79</td><td>4545.79</td><td>4488.79</td><td>2026.02.02 07:49:49</td><td>4545.79</td><td>-5.00</td><td>-1.00</td><td>-2.00</td><td>-800.00</td></tr>
<tr><td colspan=9>&nbsp;</td><td>8002</td><td colspan=3>{expert}[sl]</td></tr>
<tr><td title="#8005 cancelled">42</td><td>2026.02.03 09:00:00</td><td>sell stop</td><td>1.00</td><td>xauusd</td><td>4099.73</td><td>0</td><td>0</td><td>2026.02.04 10:00:01</td><td>4589.99</td><td colspan=4>cancelled</td></tr>
<tr><td title="#8003">43</td><td>2026.02.03 10:00:00</td><td>buy</td><td>0.50</td><td>usdjpy</td><td>150.000</td><td>0</td><td>0</td><td>2026.02.03 12:00:00</td><td>151.500</td><td>0.00</td><td>0.00</td><td>0.00</td><td>495.05</td></tr>
<tr><td colspan=10>&nbsp;</td><td>-5.00</td><td>-1.00</td><td>-2.00</td><td>-304.95</td></tr>
<tr><td colspan=12>Closed P/L:</td><td colspan=2>-312.95</td></tr>
<tr><td colspan=2>Deposit/Withdrawal:</td><td colspan=2>10 000.00</td><td colspan=4>Credit Facility:</td><td colspan=6>0.00</td></tr>
<tr><td colspan=2>Closed Trade P/L:</td><td colspan=2>{sum}</td><td colspan=4>Floating P/L:</td><td>0.00</td><td colspan=3>Margin:</td><td colspan=2>0.00</td></tr>
<tr><td colspan=2>Balance:</td><td colspan=2>9 687.05</td><td colspan=4>Equity:</td><td>9 687.05</td><td colspan=3>Free Margin:</td><td colspan=2>9 687.05</td></tr>
</table></body></html>
"""


def statement(
    path: Path, encoding: str = "utf-8", name: str = "Nobody", expert: str = "gold_4", closed: str = "Closed Transactions:",
    total: str = "-312.95",
) -> Path:  # fmt: skip
    """A statement of MetaTrader 4 in a code page that it does not name."""
    text = (
        STATEMENT.replace("{name}", name)
        .replace("{expert}", expert)
        .replace("{closed}", closed)
        .replace("{sum}", total)
    )
    path.write_bytes(text.encode(encoding))
    return path


def write_reports() -> None:
    """What the section in the docs reads, into the current folder."""
    xlsx(Path("ReportHistory-10000001.xlsx"), ACCOUNT)
    statement(Path("DetailedStatement.htm"))
