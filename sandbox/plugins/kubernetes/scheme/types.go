// Command main prints how Go's types spell every built-in Kubernetes object of a stable version; __init__.py says what for.
//
// To renew types.json for another version of k8s.io/api, in the folder of the Go module that builds the API server:
//
//	go run <this folder>/types.go > <this folder>/types.json
package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

var opaque = map[reflect.Type]string{
	reflect.TypeOf(resource.Quantity{}):    "quantity",
	reflect.TypeOf(intstr.IntOrString{}):   "any",
	reflect.TypeOf(metav1.Time{}):          "any",
	reflect.TypeOf(metav1.MicroTime{}):     "any",
	reflect.TypeOf(metav1.Duration{}):      "any",
	reflect.TypeOf(metav1.FieldsV1{}):      "any",
	reflect.TypeOf(runtime.RawExtension{}): "any",
	reflect.TypeOf([]byte(nil)):            "string",
}

type table struct {
	Kinds map[string]string
	Types map[string]map[string]string
	names map[reflect.Type]string
}

func (t *table) shape(typ reflect.Type) string {
	if name, ok := opaque[typ]; ok {
		return name
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return t.shape(typ.Elem())
	case reflect.Map:
		return "{" + t.shape(typ.Elem())
	case reflect.Slice, reflect.Array:
		return "[" + t.shape(typ.Elem())
	case reflect.Struct:
		return "." + t.add(typ)
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "int"
	default:
		return "any"
	}
}

func (t *table) add(typ reflect.Type) string {
	if name, ok := t.names[typ]; ok {
		return name
	}
	parts := strings.Split(typ.PkgPath(), "/")
	name := strings.Join(parts[len(parts)-2:], "/") + "." + typ.Name()
	t.names[typ] = name
	fields := map[string]string{}
	t.Types[name] = fields
	t.fields(typ, fields)
	return name
}

func (t *table) fields(typ reflect.Type, fields map[string]string) {
	for i := 0; i < typ.NumField(); i++ {
		field := typ.Field(i)
		tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == "-" || (tag == "" && !field.Anonymous) {
			continue
		}
		if field.Anonymous && tag == "" {
			t.fields(field.Type, fields)
			continue
		}
		shape := t.shape(field.Type)
		// A pointer is written whenever it is set; another field with omitempty only when it is not the zero value.
		if strings.Contains(options, "omitempty") && field.Type.Kind() != reflect.Pointer && field.Type.Kind() != reflect.Struct {
			shape = "?" + shape
		}
		fields[tag] = shape
	}
}

func main() {
	t := &table{Kinds: map[string]string{}, Types: map[string]map[string]string{}, names: map[reflect.Type]string{}}
	kinds := scheme.Scheme.AllKnownTypes()
	order := []string{}
	byName := map[string]reflect.Type{}
	for gvk, typ := range kinds {
		if gvk.Version == "__internal" || strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options") || gvk.Kind == "WatchEvent" {
			continue
		}
		if strings.Contains(gvk.Version, "alpha") || strings.Contains(gvk.Version, "beta") {
			continue // The sandbox's API server does not serve it.
		}
		if _, ok := typ.FieldByName("ObjectMeta"); !ok {
			continue
		}
		key := gvk.GroupVersion().String() + "/" + gvk.Kind
		order = append(order, key)
		byName[key] = typ
	}
	sort.Strings(order)
	for _, key := range order {
		t.Kinds[key] = t.add(byName[key])
	}
	// One line per kind and type, so that a renewal shows what changed.
	fmt.Print("{\"kinds\":{\n")
	lines(order, func(key string) any { return t.Kinds[key] })
	names := []string{}
	for name := range t.Types {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Print("},\n\"types\":{\n")
	lines(names, func(key string) any { return t.Types[key] })
	fmt.Print("}}\n")
}

func lines(keys []string, value func(string) any) {
	for i, key := range keys {
		encoded, err := json.Marshal(value(key))
		if err != nil {
			panic(err)
		}
		if i > 0 {
			fmt.Print(",\n")
		}
		fmt.Printf("%q:%s", key, encoded)
	}
}
