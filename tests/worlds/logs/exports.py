"""Exports of exchanges, brokers and backtesters as their makers write them, made up: two or three rows each."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from tests.worlds.logs.tables import KRAKEN

CCXT: Final = json.dumps(
    [
        {"id": "1", "timestamp": 1735725600000, "symbol": "BTC/USDT:USDT", "order": "a", "side": "buy", "takerOrMaker": "taker",
         "price": 50000, "amount": 3, "cost": 1500, "fee": {"cost": 0.75, "currency": "USDT"}, "fees": [], "info": {}},
        {"id": "2", "timestamp": 1735729200000, "symbol": "BTC/USDT:USDT", "order": "b", "side": "sell", "takerOrMaker": "maker",
         "price": 51000.5, "amount": 3, "cost": 1530.015, "fee": None, "fees": [{"cost": -0.1, "currency": "USDT"}],
         "info": {"fillPnl": "30.015"}},
        {"id": "3", "timestamp": 1735732800000, "symbol": "BTC/USD:BTC", "side": "buy", "takerOrMaker": "maker",
         "price": 51000, "amount": 1, "cost": 1, "fee": None, "fees": [], "info": {}},
    ]
)  # fmt: skip

ALPACA: Final = json.dumps(
    [
        {"activity_type": "FILL", "id": "20250102100000000::a", "transaction_time": "2025-01-02T15:00:00Z", "type": "fill",
         "price": "10.5", "qty": "4", "side": "sell_short", "symbol": "AAPL", "order_id": "o1"},
        {"activity_type": "FILL", "id": "20250102110000000::b", "transaction_time": "2025-01-02T16:00:00Z", "type": "fill",
         "price": "10", "qty": "4", "side": "buy", "symbol": "AAPL", "order_id": "o2"},
        {"activity_type": "CSD", "id": "c", "date": "2025-01-01", "net_amount": "1000"},
        {"activity_type": "DIV", "id": "d", "date": "2025-01-03", "net_amount": "1.25", "symbol": "MSFT", "qty": "5"},
    ]
)  # fmt: skip

TEXTS: Final[dict[str, str]] = {
    "kraken-ledgers": KRAKEN,
    "ccxt": CCXT,
    "alpaca": ALPACA,
    "binance-spot": (
        "\ufeffDate(UTC),Pair,Side,Price,Executed,Amount,Fee\n"
        "2025-01-02 11:00:00,1INCHUSDT,SELL,0.5,9991INCH,499.5USDT,0.001BNB\n"
        '2025-01-02 10:00:00,1INCHUSDT,BUY,0.4,"1,0001INCH",400USDT,11INCH\n'
    ),
    "binance-futures": (
        "Time(UTC),Symbol,Side,Price,Quantity,Amount,Fee,Realized Profit\n"
        "2025-01-02 10:00:00,ETHUSDT,SELL,3000,2,6000,2.4 USDT,0\n"
        "2025-01-02 11:00:00,ETHUSDT,BUY,2900,3,8700,3.48 USDT,200\n"
    ),
    "bybit": (
        "Time,Currency,Contract,Type,Direction,Quantity,Position,Filled Price,Funding,Fee Paid,Cash Flow,Change,Wallet Balance,"
        "Fee Rate,Trade ID,Order ID\n"
        "2025-01-02 12:00:00,USDT,BTCUSDT,TRADE,SELL,-0.1,0,51000,0,2.805,100,97.195,1092.345,0.00055,t2,o2\n"
        "2025-01-02 11:00:00,USDT,BTCUSDT,SETTLEMENT,BUY,0.1,0.1,50500,-2.1,0,0,-2.1,995.15,0.0001,,\n"
        "2025-01-02 10:00:00,USDT,BTCUSDT,TRADE,BUY,0.1,0.1,50000,0,2.75,0,-2.75,997.25,0.00055,t1,o1\n"
        "2025-01-02 09:00:00,USDT,,TRANSFER_IN,--,0,0,0,0,0,1000,1000,1000,0,,\n"
    ),
    "bybit-uta": (
        "UID: 1,Company Name: ,Country: \n"
        "Uid,Currency,Contract,Type,Direction,Quantity,Position,Filled Price,Funding,Fee Paid,Cash Flow,Change,Wallet Balance,"
        "Action,Time(UTC)\n"
        "1,USDT,,--,--,0,0,0,0,0,-2,-2,790.345,--,2025-01-02 14:00:00\n"
        "1,USDT,ETHUSDT,TRADE,BUY,-300,0,3000,0,0,-300,-300,792.345,--,2025-01-02 13:00:00\n"
        "1,ETH,ETHUSDT,TRADE,BUY,0.1,0,3000,0,-0.0001,0.1,0.0999,0.0999,--,2025-01-02 13:00:00\n"
        "1,USDT,BTCUSDT,TRADE,SELL,-0.1,0,51000,0,-2.805,100,97.195,1092.345,CLOSE,2025-01-02 12:00:00\n"
        "1,USDT,BTCUSDT,SETTLEMENT,BUY,--,0.1,--,-2.1,0,0,-2.1,995.15,SETTLEMENT,2025-01-02 11:00:00\n"
        "1,USDT,BTCUSDT,TRADE,BUY,0.1,0.1,50000,0,-2.75,0,-2.75,997.25,OPEN,2025-01-02 10:00:00\n"
        "1,USDT,,TRANSFER_IN,--,0,0,0,0,0,1000,1000,1000,--,2025-01-02 09:00:00\n"
    ),
    "binance-statement": (
        "User_ID,UTC_Time,Account,Operation,Coin,Change,Remark\n"
        "7,24-12-24 09:00:00,Spot,Deposit,USDT,1000,\n"
        "7,24-12-24 10:00:00,Spot,Transaction Spend,USDT,-199.532,\n"
        "7,24-12-24 10:00:00,Spot,Transaction Buy,DOGE,601,\n"
        "7,24-12-24 10:00:00,Spot,Transaction Fee,DOGE,-0.601,\n"
        "7,24-12-24 10:30:00,USD-MFutures,Realized Profit and Loss,USDT,5,\n"
        "7,2024-12-24 11:00:00,Spot,Transaction Sold,DOGE,-600,\n"
        "7,2024-12-24 11:00:00,Spot,Transaction Revenue,USDT,210,\n"
        "7,2024-12-24 11:00:00,Spot,Transaction Fee,BNB,-0.0003,\n"
    ),
    "binance-orders": (
        "Date(UTC),OrderNo,Pair,Type,Side,Order Price,Order Amount,AvgTrading Price,Filled,Total,status\n"
        '2025-03-02 10:00:00,13,ETHUSDT,LIMIT,SELL,3500,2,3500,2,"7,000",Filled\n'
        ",,Date(UTC),Trading Price,Filled,Total,Fee,,,,\n"
        ",,2025-03-02 10:00:00,3500,2,7000,7USDT,,,,\n"
        "2025-03-01 11:00:00,12,ETHUSDT,LIMIT,BUY,2000,1,0,0,0,Canceled\n"
        "2025-03-01 10:00:00,11,ETHUSDT,LIMIT,BUY,3000,2,2999.5,2,5999,Filled\n"
    ),
    "kraken-trades": (
        '"txid","ordertxid","pair","time","type","ordertype","price","cost","fee","vol","margin","misc","ledgers"\n'
        '"T1","O1","XXBTZEUR","2025-01-02 10:00:00.1234","buy","limit",40000.0,400.0,1.04,0.01,0,"",""\n'
        '"T2","O2","XBTEUR","2025-01-02 11:00:00.5","sell","market",41000.0,410.0,1.07,0.01,0,"",""\n'
    ),
    "coinbase": (
        "\nTransactions\nUser,A Person,a1\n"
        "ID,Timestamp,Transaction Type,Asset,Quantity Transacted,Price Currency,Price at Transaction,Subtotal,"
        "Total (inclusive of fees and/or spread),Fees and/or Spread,Notes\n"
        "c3,2025-01-04 10:00:00 UTC,Send,ETH,-0.5,EUR,€3000,€-1500,€-1500,€0,to a friend\n"
        'c2,2025-01-03 10:00:00 UTC,Advanced Trade Sell,ETH,-0.5,EUR,"€3,100.00","€1,550.00","€1,546.90",€3.10,x\n'
        'c1,2025-01-02 10:00:00 UTC,Buy,ETH,1,EUR,"€3,000.00","€3,000.00","€3,045.00",€45.00,"Bought, 1 ETH"\n'
    ),
    "coinbase-exchange": (
        "portfolio,trade id,product,side,created at,size,size unit,price,fee,total,price/fee/total unit\n"
        "default,11,BTC-USD,BUY,2025-01-02T10:00:00.123Z,0.5,BTC,40000,100,-20100,USD\n"
        "default,12,BTC-USD,SELL,2025-01-02T11:00:00.123Z,0.5,BTC,42000,105,20895,USD\n"
    ),
    "coinbase-account": (
        "portfolio,type,time,amount,balance,amount/balance unit,transfer id,trade id,order id\n"
        "default,deposit,2025-01-01T09:00:00.000Z,1000,1000,EUR,d1,,\n"
        "default,match,2025-01-01T10:00:00.000Z,0.5,0.5,ETH,,7,o1\n"
        "default,match,2025-01-01T10:00:00.000Z,-900,100,EUR,,7,o1\n"
        "default,fee,2025-01-01T10:00:00.000Z,-4.5,95.5,EUR,,7,o1\n"
    ),
    "kucoin": (
        "tradeCreatedAt,symbol,side,price,size,funds,fee,feeCurrency\n"
        "2025-01-02 11:00:00,XRP-USDT,sell,0.75,400,300,0.3,USDT\n"
        "2025-01-02 10:00:00,XRP-USDT,buy,0.5,400,200,0.2,USDT\n"
    ),
    "okx": (
        "Account bill,UID 1\n"
        "id,Order id,Time,Trade Type,Instrument,Type,Amount,Unit,PL,Fee,Position Change,Position Balance,Balance Change,Balance,Unit\n"
        "4,78,2025-01-02 19:00:00,Swap,BTC-USDT-SWAP,Buy,3,Cont,0,0,3,3,0,700,USDT\n"
        "3,78,2025-01-02 19:00:00,Swap,BTC-USDT-SWAP,Sell,3,Cont,0,0,-3,0,0,700,USDT\n"
        "2,77,2025-01-02 18:00:00,Spot,ETH-USDT,Sell,300,USDT,0,0,0,0,-300,700,USDT\n"
        "1,77,2025-01-02 18:00:00,Spot,ETH-USDT,Buy,0.1,ETH,0,-0.0001,0,0,0.0999,0.0999,ETH\n"
    ),
    "ibkr-flex": (
        '<FlexQueryResponse><FlexStatements count="1"><FlexStatement accountId="U1"><Trades>'
        '<Trade accountId="U1" transactionID="5" symbol="AAPL" currency="USD" assetCategory="STK" levelOfDetail="EXECUTION" '
        'dateTime="20250102;100000" quantity="10" multiplier="1" tradePrice="100" ibCommission="-1" ibCommissionCurrency="USD" '
        'fifoPnlRealized="0" buySell="BUY"/>'
        '<Trade accountId="U1" transactionID="6" symbol="AAPL" currency="USD" assetCategory="STK" levelOfDetail="EXECUTION" '
        'dateTime="20250102;110000" quantity="-10" multiplier="1" tradePrice="102" ibCommission="-1" ibCommissionCurrency="USD" '
        'fifoPnlRealized="18" buySell="SELL"/>'
        '<Trade accountId="U1" transactionID="" symbol="AAPL" currency="USD" assetCategory="STK" levelOfDetail="ORDER" '
        'dateTime="20250102;110000" quantity="-10" multiplier="1" tradePrice="102" ibCommission="-1" buySell="SELL"/>'
        "</Trades></FlexStatement></FlexStatements></FlexQueryResponse>"
    ),
    "tradenote": (
        "Account,T/D,S/D,Currency,Type,Side,Symbol,Qty,Price,Exec Time,Comm,SEC,TAF,NSCC,Nasdaq,ECN Remove,ECN Add,Gross Proceeds,"
        "Net Proceeds,Clr Broker,Liq,Note\n"
        "X1,08/13/2024,08/15/2024,USD,stock,SS,RBLX,50,49.88,09:47:59,1,0.06,0.01,0,0,0,0,2494,2492.93,SIM,,\n"
        "X1,08/13/2024,08/15/2024,USD,stock,BC,RBLX,50,49.60,09:48:22,1,0,0,0,0,0,0,-2480,-2481,SIM,,\n"
    ),
    "tradervue": (
        "Date,Time,Symbol,Quantity,Price,Side,Commission,TransFee,ECNFee\n"
        "01/15/25,09:31:00,TSLA,10,400,Buy,0.5,0.02,0.03\n"
        "01/15/25,10:31:00,TSLA,-10,405,Sell,0.5,0.02,0\n"
    ),
    "micro-cap-trades": (
        "Date,Ticker,Shares Bought,Buy Price,Cost Basis,PnL,Reason,Shares Sold,Sell Price\n"
        "2025-06-30,ABEO,6.0,5.77,34.62,0.0,MANUAL BUY - New position,,\n"
        "2025-07-07,ABEO,,,5.77,3.78,AUTOMATED SELL - STOPLOSS TRIGGERED,6.0,6.4\n"
        "2025-07-07,ABEO,,,5.77,3.78,AUTOMATED SELL - STOPLOSS TRIGGERED,6.0,6.4\n"
        "2025-07-08,SPY,,,2500.0,718.0,MANUAL SELL LIMIT - ,5.0,643.6\n"
        ",,,,,,,,\n"
    ),
    "micro-cap-portfolio": (
        "Date,Ticker,Shares,Buy Price,Cost Basis,Stop Loss,Current Price,Total Value,PnL,Action,Cash Balance,Total Equity\n"
        "2025-06-30,ABEO,6.0,5.77,34.62,4.9,5.68,34.08,-0.54,HOLD,,\n"
        "2025-06-30,TOTAL,,,,,,34.08,-0.54,,+65.38,99.46\n"
        "2025-06-30,TOTAL,,,,,,34.08,-0.54,,+65.38,99.46\n"
    ),
    "jesse": (
        "id,strategy_name,symbol,exchange,type,entry_price,exit_price,qty,fee,size,PNL,PNL_percentage,holding_period,opened_at,closed_at\n"
        "j1,Turtle One,BTC-USDT,Bybit,short,50000,49000,0.1,9.9,5000,90.1,1.8,3600,1735725600000,1735729200000\n"
    ),
    "nautilus-fills": (
        "client_order_id,trade_id,instrument_id,position_id,order_side,last_qty,last_px,commission,ts_event\n"
        "O-1,1,ETHUSDT-PERP.BINANCE,P-1,SELL,2.0,3000,2.40 USDT,1735725600000000000\n"
        "O-2,2,ETHUSDT-PERP.BINANCE,P-1,BUY,2.0,2900,2.32 USDT,1735729200000000000\n"
        "O-3,3,ETHUSDT-PERP.BINANCE,P-1,BUY,1.0,2950,1.18 USDT,1735732800000000000\n"
    ),
    "backtesting-py": (
        ",Size,EntryBar,ExitBar,EntryPrice,ExitPrice,SL,TP,PnL,Commission,ReturnPct,EntryTime,ExitTime,Duration,Tag\n"
        "0,-10,1,5,100.0,90.0,110.0,,98.1,1.9,0.1,2025-01-02,2025-01-08,6 days,breakdown\n"
    ),
    "vectorbt": (
        "Exit Trade Id,Column,Size,Entry Timestamp,Avg Entry Price,Entry Fees,Exit Timestamp,Avg Exit Price,Exit Fees,PnL,Return,"
        "Direction,Status,Position Id\n"
        "0,BTC-USD,0.5,2025-01-02,40000,20,2025-01-05,41000,20.5,459.5,0.02,Long,Closed,0\n"
        "1,BTC-USD,0.5,2025-01-06,42000,21,2025-01-31,43000,0,479,0.02,Long,Open,1\n"
    ),
    "tradememory-swaps": (
        "open_time,close_time,symbol,side,open_price,close_price,volume,pnl,tx_hash,gas_cost_eth,tokens_sold,tokens_bought\n"
        "2021-01-02 10:00:00,2021-01-02 10:00:00,MIM/USDC,BUY,0.95,0.95,100,0,0xaa,0.01,USDC:95,MIM:100\n"
        "2021-01-03 10:00:00,2021-01-03 10:00:00,MIM/USDC,SELL,0.99,0.99,100,0,0xbb,0.02,MIM:100,USDC:99\n"
        "2021-01-04 10:00:00,2021-01-04 10:00:00,CRV/aCRV,SELL,1.0,1.0,7,0,0xcc,0.03,CRV:7,aCRV:7\n"
    ),
    "tradememory-trades": (
        "entry_time,exit_time,symbol,direction,entry_price,exit_price,pnl,strategy\n"
        "2026-01-08 09:15:00,2026-01-08 14:30:00,XAUUSD,long,5000,5010,+25.00,Breakout\n"
        "2026-02-12 15:30:00,2026-02-12 16:45:00,XAUUSD,long,5095.00,5093.80,+12.00,Manual\n"
    ),
}
"""By the name of the mapping that reads it."""


def tradememory(path: Path) -> None:
    """A database of tradememory with one trade: bought at 100, sold at 104, 8.00 made, of which 1 R is 4.00."""
    row: dict[str, Any] = {
        "id": "m1", "timestamp": "2025-01-02T10:00:00", "symbol": "XAUUSD", "direction": "long", "lot_size": 0.02,
        "strategy": "VolBreakout", "confidence": 0.72, "reasoning": "range broke", "market_context": '{"price": 100.0}',
        "exit_timestamp": "2025-01-02T12:00:00", "exit_price": 104.0, "pnl": 8.0, "pnl_r": 2.0, "exit_reasoning": "target",
    }  # fmt: skip
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"CREATE TABLE trade_records ({', '.join(row)})")
        database.execute(
            f"INSERT INTO trade_records VALUES ({', '.join('?' * len(row))})", tuple(row.values())
        )
        database.commit()


def write(folder: Path, name: str) -> Path:
    """The export that a shipped mapping reads, as a file in a folder."""
    endings = {"ccxt": "json", "alpaca": "json", "ibkr-flex": "xml", "tradememory": "db"}
    path = folder / f"export.{endings.get(name, 'csv')}"
    if name == "tradememory":
        tradememory(path)
    else:
        path.write_text(TEXTS[name], encoding="utf-8")
    return path
