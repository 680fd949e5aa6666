"""Whatever a reader saw: the node's document is canonical and decodes, and its links agree with each other."""

from hypothesis import given

from observations import observations
from podberth.topology.codec import decode_topology, encode_topology
from podberth.topology.derive import derive
from podberth.topology.observation import Observation


@given(observations)
def test_every_observation_is_a_document_that_decodes_to_what_was_meant(observation: Observation) -> None:
    topology = derive(observation)
    assert decode_topology(encode_topology("node", topology)) == topology


@given(observations)
def test_the_order_in_which_gpus_were_read_does_not_matter(observation: Observation) -> None:
    turned = Observation(
        gpus=observation.gpus[::-1],
        pairs=dict(reversed(list(observation.pairs.items()))),
        places=dict(reversed(list(observation.places.items()))),
        unseen=observation.unseen[::-1],
    )
    assert derive(turned) == derive(observation)


@given(observations)
def test_domains_are_linked_all_with_all_and_the_matrix_is_symmetric(observation: Observation) -> None:
    topology = derive(observation)
    order = {gpu.index: place for place, gpu in enumerate(topology.gpus)}
    levels = topology.links.levels
    for domain in topology.links.domains:
        cells = [levels[order[one]][order[other]] for one in domain for other in domain if one != other]
        assert all(cell.startswith(("NV", "XGMI")) for cell in cells)
    for one in topology.gpus:
        for other in topology.gpus:
            if one.vendor == other.vendor:
                assert levels[order[one.index]][order[other.index]] == levels[order[other.index]][order[one.index]]
