"""The four tables of the first hour, the same at every call: each maker yields a header and then rows of text."""

import math
import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from statistics import fmean

Row = list[str]


def churn(rows: int, seed: int = 0) -> Iterator[Row]:
    """Customers of whom one in twelve leaves, joined from several programs. Those who left alone have days since they cancelled."""
    draw = random.Random(seed)
    yield [
        "customer", "signup", "last_invoice", "monthly_charge", "paid_abroad", "discount", "balance", "income", "deposit", "visits",
        "contract", "autopay", "support_calls", "region", "remark", "days_since_cancelling", "churned",
    ]  # fmt: skip
    for i in range(rows):
        age, charge, discount = int(draw.expovariate(1 / 900)) % 2500, math.exp(draw.gauss(4.3, 0.9)), draw.betavariate(2, 6)
        balance, income, visits = draw.gauss(300, 700), math.exp(draw.gauss(3.9, 0.5)), 1000 + int(math.exp(draw.gauss(6.9, 0.8)))
        contract, autopay = draw.choice(["monthly", "monthly", "yearly", "two years"]), draw.random() < 0.6
        calls = min(9, int(draw.expovariate(0.7)))
        odds = -2.6 + 0.5 * calls + 0.8 * (contract == "monthly") * (1 + 0.4 * math.log(charge / 70)) - 1.5 * math.log1p(age / 400)
        odds += 0.9 * (not autopay) - 2 * discount - 0.0008 * balance + 1.2 * (visits < 1500)
        left = draw.random() < 1 / (1 + math.exp(-odds))
        signup, invoice = date(2024, 6, 30) - timedelta(age), date(2024, draw.randint(1, 6), draw.randint(1, 12))
        yield [
            f"C-{i * 7919 % 1_000_003:06d}",
            draw.choice([f"{signup:%Y-%m-%d}", f"{signup:%m/%d/%Y}", f"{signup:%d %b %Y}", f"{signup:%d.%m.%Y}"]),
            f"{invoice:%m/%d/%Y}",
            "unknown" if draw.random() < 0.02 else f"${charge:,.2f}",
            "€" + f"{30 * charge:,.2f}".translate({ord(","): ".", ord("."): ","}),
            f"{100 * discount:.1f}%",
            f"({-balance:,.0f})" if balance < 0 else f"{balance:,.0f}",
            f"{income:.0f}k",
            f"{20 * charge:,.0f}".replace(",", "'"),
            f"{visits:,}",
            contract,
            draw.choice(["yes", "Yes", "y", "TRUE", "1"] if autopay else ["no", "No ", "n", "false", "0"]),
            str(calls),
            draw.choice(["north", "south", "east", "west"]),
            f"{draw.choice(['He', 'She'])} {draw.choice(['wanted', 'praised', 'disliked'])} our offer, ticket {i * 31 % 99_991} of May.",
            str(draw.randint(1, 60)) if left and draw.random() < 0.99 else "",
            "yes" if left else "no",
        ]


DISTRICTS = {"old town": 1.1, "harbour": 0.6, "north": 0.0, "south": -0.3, "hills": 0.8, "mills": -0.9}
CONDITIONS = {"new": 0.5, "good": 0.1, "worn": -0.4, "ruin": -1.5}

# Standard deviation s of the log price of like houses. Who knows all cells and predicts the mean errs by √(s² + (s²/2)²) in logs: .79.
NOISE = 0.741


def one_house(draw: random.Random) -> tuple[dict[str, float | str], float]:
    """Cells of a house, and the mean of its log price."""
    area = math.exp(draw.gauss(4.6, 0.6))
    cells = {
        "area": round(area, 1),
        "rooms": max(1, round(area / 28 + draw.gauss(0, 0.8))),
        "age": round(draw.expovariate(1 / 40)),
        "district": draw.choice(list(DISTRICTS)),
        "condition": draw.choices(list(CONDITIONS), [3, 4, 2, 1])[0],
        "garden": "yes" if draw.random() < 0.4 else "no",
        "floor": draw.randrange(8),
        "distance": round(draw.expovariate(1 / 6), 2),
    }
    near = math.exp(-cells["distance"] / 5)
    log = 1.3 * (math.log(area) - 4.6) + DISTRICTS[cells["district"]] * (0.4 + near) + CONDITIONS[cells["condition"]]
    log += 0.5 * (cells["garden"] == "yes") * (1 - near) - 0.006 * min(cells["age"], 120) + 0.9 * near
    return cells, 11 + 0.75 * log


def house(rows: int, seed: int = 24) -> Iterator[Row]:
    """Prices over four decades, of houses of which 30 % of the cells are missing."""
    draw = random.Random(seed)
    yield ["area", "rooms", "age", "district", "condition", "garden", "floor", "distance", "price"]
    for _ in range(rows):
        cells, log = one_house(draw)
        shown = ["" if draw.random() < 0.3 else str(v) for v in cells.values()]
        yield [*shown, str(round(math.exp(log + draw.gauss(0, NOISE)), 2))]


def expected_price(row: Row) -> float:
    """The mean price of the houses that a row may be. Nobody who predicts means from that row can do better."""
    area, rooms, age, district, condition, garden, _, distance, _ = row
    size = math.exp(0.975 * (math.log(float(area)) - 4.6)) if area else mean_size().get(rooms, mean_size()[""])
    worn = fmean(math.exp(-0.0045 * min(v, 120)) for v in ([float(age)] if age else quantiles(40)))
    kept = fmean([math.exp(0.75 * CONDITIONS[v]) for v in ([condition] if condition else CONDITIONS)], None if condition else [3, 4, 2, 1])
    return math.exp(11 + NOISE**2 / 2) * size * worn * kept * mean_place(district, garden, distance)


@cache
def mean_place(district: str, garden: str, distance: str) -> float:
    green_share = {"yes": 1.0, "no": 0.0, "": 0.4}[garden]
    factors = []
    for near in (math.exp(-v / 5) for v in ([float(distance)] if distance else quantiles(6))):
        there = fmean(math.exp(0.75 * DISTRICTS[v] * (0.4 + near)) for v in ([district] if district else DISTRICTS))
        green = 1 + green_share * (math.exp(0.375 * (1 - near)) - 1)
        factors.append(there * green * math.exp(0.675 * near))
    return fmean(factors)


@cache
def mean_size() -> dict[str, float]:
    """What houses of so many rooms cost for their area; "" is all houses."""
    draw, by_rooms = random.Random(1), defaultdict(list)
    for _ in range(100_000):
        cells, _ = one_house(draw)
        factor = math.exp(0.975 * (math.log(cells["area"]) - 4.6))
        by_rooms[str(cells["rooms"])].append(factor)
        by_rooms[""].append(factor)
    return {rooms: fmean(factors) for rooms, factors in by_rooms.items()}


@cache
def quantiles(mean: float) -> list[float]:
    """Evenly probable values of an exponential distribution."""
    return [-mean * math.log(1 - (k + 0.5) / 200) for k in range(200)]


def wide(rows: int = 200, seed: int = 0) -> Iterator[Row]:
    """300 columns of which five tell the target, linearly. With noise, R² cannot be above .9."""
    draw = random.Random(seed)
    yield [*(f"gene_{k:03d}" for k in range(300)), "response"]
    for _ in range(rows):
        x = [draw.gauss(0, 1) for _ in range(300)]
        response = 2 * x[10] - 2 * x[60] + 1.5 * x[110] + 1.5 * x[160] - x[210] + 1.2 * draw.gauss(0, 1)
        yield [*(f"{v:.4f}" for v in x), f"{response:.4f}"]


def million(rows: int = 1_000_000, seed: int = 0) -> Iterator[Row]:
    """Sales of a year, sorted by day: the first rows are of season 1 alone."""
    draw = random.Random(seed)
    yield ["day", "season", "hour", "workingday", "store", "price", "promo", "temp", "sold"]
    stores = [(f"store {k:02d}", draw.gauss(0, 0.4)) for k in range(50)]
    for i in range(rows):
        day = date(2023, 1, 1) + timedelta(i * 365 // rows)
        season, working, hour = (day.month % 12) // 3 + 1, int(day.weekday() < 5), draw.randint(0, 23)
        store, size = draw.choice(stores)
        price, promo = 10 * math.exp(draw.gauss(0, 0.3)), int(draw.random() < 0.15)
        temp = 12 - 12 * math.cos(2 * math.pi * (i / rows - 0.05)) + draw.gauss(0, 4)
        rush = 1.2 * math.exp(-(((hour - 17) / 2.5) ** 2)) * working + 0.9 * math.exp(-(((hour - 13) / 4) ** 2)) * (1 - working)
        mean = math.exp(2.5 + size + rush - 1.5 * math.log(price / 10) + 0.5 * promo + 0.02 * temp + 0.2 * (season == 4) - (hour < 6))
        sold = round(draw.gammavariate(8, mean / 8))
        yield [str(day), str(season), str(hour), str(working), store, f"{price:.2f}", str(promo), f"{temp:.1f}", str(sold)]
