#!/bin/sh
# Writes one mesh's offer from its Services, then updates its stack `federation`. Peers read the offer from the stack.
#
# MESH: the mesh. STACK: its stack. FEDERATION: the document. OFFER: the file under hosted-mesh:offers of the stack.
# KUBECONFIG: of the mesh's data plane. Run it in the directory of the program.
set -eu
: "${MESH:?}" "${STACK:?}" "${FEDERATION:?}" "${OFFER:?}" "${KUBECONFIG:?}"

# The old offer stays if the cluster does not answer: an empty one would withdraw all exports.
trap 'rm -f "$OFFER.new"' EXIT
hosted-mesh exports "$FEDERATION" --mesh "$MESH" --kubeconfig "$KUBECONFIG" > "$OFFER.new"
mv "$OFFER.new" "$OFFER"

pulumi up --yes --skip-preview --non-interactive --stack "$STACK"
