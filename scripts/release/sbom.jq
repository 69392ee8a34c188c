# Adds the npm packages that the viewer is built from, and leaves out the digests of the tool's own program, which differ with the machine
# that built it.
del(.metadata.tools[].hashes)
| .components += [$lock[0].packages | to_entries[] | select(.key != "" and (.value.dev | not))
  | (.key | split("node_modules/")[-1]) as $name
  | ("pkg:npm/\($name | sub("^@"; "%40"))@\(.value.version)") as $purl
  | {"bom-ref": $purl, type: "library", name: $name, version: .value.version, licenses: [{expression: .value.license}], purl: $purl}]
