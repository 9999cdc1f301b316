"""Traffic intents: a pure compiler from calls to Istio's objects, an evaluator of these objects, and the component."""
