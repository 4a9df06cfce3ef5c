"""The planner of `webxpu.gpu.variants`, under the name that tests import."""

from webxpu.gpu.variants import Planner as Planner
