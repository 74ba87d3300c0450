"""The limiters: how each is set and served, what it refuses with, and what bounds a batch that goes through it."""

from dataclasses import dataclass, replace

from bounds import Bound, bucket, clock_windows, counter, places, second_windows, windows
from servers import Recipe


@dataclass(frozen=True)
class Limiter:
    """One limiter with its settings."""

    name: str
    recipe: Recipe
    bound: Bound
    pace: float
    """Seconds between two requests of a client that knows the limit and spreads it evenly."""
    status: int = 429
    latency: float = 0.05
    """Seconds until an answer; refusals come at once."""
    documents: tuple[int, ...] = (50, 300)
    """Sizes of batches that are measured with it."""
    begins_at: float | None = None
    """Seconds into a minute at which a run begins, if that matters."""


def nginx(rate: str, limit: str) -> Recipe:
    command = ("@installed@/bin/nginx", "-e", "stderr", "-p", "@folder@", "-c", "nginx.conf")
    return Recipe("bin/nginx", command, ("nginx/nginx.conf.in",), {"rate": rate, "limit": limit})


def express(headers: str) -> Limiter:
    command = ("node", "@installed@/express/server.js", "@port@", headers)
    recipe = Recipe("express/node_modules/installed-by", command, has_upstream=False)
    return Limiter(f"express-rate-limit 10 per 5 s, {headers}", recipe, windows(10, 5), pace=0.5)


def slowapi(strategy: str, bound: Bound) -> Limiter:
    command = ("@installed@/python/bin/python", "@here@/slowapi/server.py", "@port@", strategy)
    recipe = Recipe("python/installed-by", command, has_upstream=False)
    return Limiter(f"slowapi 10 per 5 s, {strategy}", recipe, bound, pace=0.5)


def litellm(what: str, files: tuple[str, ...], rpm: int, bound: Bound, documents: int) -> Limiter:
    command = ("@installed@/python/bin/litellm", "--config", files[0].split("/")[1].removesuffix(".in"))
    address = ("--host", "127.0.0.1", "--port", "@port@", "--telemetry", "False")
    # Nothing is asked of the internet.
    environment = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
    recipe = Recipe("python/installed-by", command + address, files, {"rpm": str(rpm)}, environment)
    return Limiter(f"LiteLLM {rpm} per minute on a {what}", recipe, bound, 60 / rpm, documents=(documents,))


def litellms() -> list[Limiter]:
    """300 documents at 20 a minute would take a quarter of an hour; they get 60."""
    by_size = ((20, 50), (60, 300))
    of_model, of_key = ("litellm/model.yaml.in",), ("litellm/key.yaml.in", "litellm/key.py.in")
    model = [litellm("model", of_model, n, clock_windows(n, 60), size) for n, size in by_size]
    key = [litellm("key", of_key, n, second_windows(n, 60), size) for n, size in by_size]
    # The model's hint is always 60 s, so that late in a minute whoever obeys it misses the next.
    return [replace(limiter, begins_at=10) for limiter in model] + key


# A burst of 5 beside the one that the rate allows.
NGINX_BURST = Limiter(
    "nginx limit_req 5 r/s, burst 5",
    nginx("5r/s", "limit_req zone=requests burst=5 nodelay; limit_req_status 429;"),
    bucket(6, 0.2),
    pace=0.2,
)
NGINX_PLACES = Limiter(
    "nginx limit_conn 3",
    nginx("1r/s", "limit_conn places 3; limit_conn_status 429;"),
    places(3),
    pace=0,
    latency=0.3,
)

LIMITERS = [
    NGINX_BURST,
    replace(
        NGINX_BURST,
        name="nginx limit_req 5 r/s, burst 5, with 503",
        recipe=nginx("5r/s", "limit_req zone=requests burst=5 nodelay;"),
        status=503,
    ),
    Limiter(
        "nginx limit_req 1 r/s",
        nginx("1r/s", "limit_req zone=requests; limit_req_status 429;"),
        bucket(1, 1),
        pace=1,
    ),
    NGINX_PLACES,
    replace(
        NGINX_PLACES, name="nginx limit_conn 3, with 503", recipe=nginx("1r/s", "limit_conn places 3;"), status=503
    ),
    Limiter(
        "haproxy 10 per 5 s",
        Recipe("bin/haproxy", ("@installed@/bin/haproxy", "-db", "-f", "haproxy.cfg"), ("haproxy/haproxy.cfg.in",)),
        # Refused requests count, but of such a client none is refused.
        counter(10, 5, by_the_clock=False),
        pace=0.5,
    ),
    *(express(headers) for headers in ("legacy", "draft-6", "draft-7", "draft-8")),
    slowapi("fixed-window", windows(10, 5)),
    slowapi("moving-window", windows(10, 5)),
    slowapi("sliding-window-counter", counter(10, 5, by_the_clock=True)),
    *litellms(),
    Limiter(
        "governor 10 per 5 s",
        Recipe("bin/governor", ("@installed@/bin/governor", "@port@"), has_upstream=False),
        bucket(10, 0.5),
        pace=0.5,
    ),
]
