// Writes the TypeScript SDK of a Pulumi package, by Pulumi's own generator, from a schema on standard input into a folder.
//
// `pulumi package gen-sdk` asks the language host for this. The host that the module proxy has is older than that
// question, and the newer hosts, which call this same function, are in no registry.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

func main() {
	if len(os.Args) != 2 {
		fail(errors.New("usage: pulumi-sdk-nodejs FOLDER < schema.json"))
	}
	if err := generate(os.Args[1]); err != nil {
		fail(err)
	}
}

// noOthers loads no other package's schema: what is generated here refers to none.
type noOthers struct{ schema.ReferenceLoader }

func (noOthers) LoadPackageV2(_ context.Context, other *schema.PackageDescriptor) (*schema.Package, error) {
	return nil, fmt.Errorf("the schema refers to the package %s; only one that stands alone can be generated", other)
}

func (noOthers) LoadPackageReferenceV2(
	_ context.Context, other *schema.PackageDescriptor,
) (schema.PackageReference, error) {
	return nil, fmt.Errorf("the schema refers to the package %s; only one that stands alone can be generated", other)
}

func generate(folder string) error {
	var spec schema.PackageSpec
	if err := json.NewDecoder(os.Stdin).Decode(&spec); err != nil {
		return fmt.Errorf("the schema cannot be read: %w", err)
	}
	pkg, problems, err := schema.BindSpec(spec, noOthers{}, schema.ValidationOptions{})
	if err != nil {
		return err
	}
	if problems.HasErrors() {
		return problems
	}
	files, err := nodejs.GeneratePackage("pulumi-sdk-nodejs", pkg, nil, nil, true, noOthers{})
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}
