"""An outcome that was not measured."""

from tools.bench.speed.comparison import Cost, Footprint, Outcome
from tools.bench.speed.measurement import Sample
from tools.bench.speed.servers import Start


def sample(subject: str, load: str, cpu: float, *, clients: int = 16, wrong: int = 0) -> Sample:
    return Sample(
        subject=subject,
        title=subject.title(),
        load=load,
        clients=clients,
        pages=100,
        wrong=wrong,
        refused=0,
        rate=100 / cpu,
        server_cpu=cpu,
        database_cpu=0.5,
        generator_share=0.25,
        p50=1.0,
        p99=2.0,
    )


def outcome() -> Outcome:
    return Outcome(
        samples=[
            *(sample("marginalia", "first", cpu) for cpu in (0.7, 0.9, 0.8)),
            *(sample("yoga", "first", cpu) for cpu in (1.5, 1.7, 1.6)),
            sample("marginalia", "html", 5.0),
        ],
        costs={("marginalia", "first"): Cost(1, 1.5)},
        compared=3,
        footprints=[Footprint("Marginalia", Start(1.5, 1.0, 100_000_000), 120_000_000)],
        titles={"first": "First <page>", "html": "HTML page"},
    )
