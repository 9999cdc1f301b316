// Pulumi's own kubernetes plug-in. Its package main embeds two files that only its repository's build makes, so no program
// comes of the module alone: here they are read, out of the module, from the folder `schema` beside this program's.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

func main() {
	behaveAsLaterOnes()
	schema := bytes.Replace(read("schema.json"), []byte("{"), fmt.Appendf(nil, "{\"version\": %q,", version.Version), 1)
	provider.Serve("kubernetes", version.Version, schema, read("terraform-mapping.json"))
}

func read(name string) []byte {
	program, err := os.Executable()
	if err != nil {
		fail(err)
	}
	content, err := os.ReadFile(filepath.Join(filepath.Dir(program), "..", "schema", name))
	if err != nil {
		fail(err)
	}
	return content
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}
