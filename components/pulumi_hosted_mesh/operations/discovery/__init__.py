"""Which meshes there are in given clusters, whoever made them: what is read, what it means, how it is shown."""
