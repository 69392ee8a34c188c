# Adds the npm packages of the viewer, and leaves out the digests of the tool's own program, which differ with the machine that built it.
del(.metadata.tools[].hashes)
| .components += [$packages[0][]
  | ("pkg:npm/\(.name | sub("^@"; "%40"))@\(.version)") as $purl
  | {"bom-ref": $purl, type: "library", name, version, licenses: [{license: {id: .identifier}}], purl: $purl}]
