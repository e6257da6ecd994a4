"""Pictures of graphs and networks: `draw_dot`, `mermaid` and `draw_network`."""

from micrograd.draw.dot import draw_dot, mermaid
from micrograd.draw.network import draw_network
from micrograd.draw.render import Digraph, register

__all__ = ["Digraph", "draw_dot", "draw_network", "mermaid", "register"]
