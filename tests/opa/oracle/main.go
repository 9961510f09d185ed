// Command oracle answers as Open Policy Agent does: its own conformance cases, or what it is asked.
//
//	oracle cases FOLDER   the cases of a folder, a JSON object a line, each with its answer
//	oracle ask            reads a JSON object a line, and answers each with a line
//
// A set is written as {"$set": [...]}, for it has no order.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/test/cases"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/util"
)

const limit = 20 * time.Second

type asked struct {
	Note      string         `json:"note"`
	Modules   []string       `json:"modules"`
	V1        bool           `json:"v1"`
	Query     string         `json:"query"`
	Data      map[string]any `json:"data,omitempty"`
	Input     *any           `json:"input,omitempty"`
	InputTerm *string        `json:"input_term,omitempty"`
	Answer    *answer        `json:"answer,omitempty"`
}

type answer struct {
	Results []map[string]any `json:"results"`
	Error   string           `json:"error,omitempty"`
}

func main() {
	out := json.NewEncoder(os.Stdout)
	switch {
	case len(os.Args) == 3 && os.Args[1] == "cases":
		for _, version := range []string{"v0", "v1"} {
			for _, each := range cases.MustLoad(filepath.Join(os.Args[2], version)).Sorted().Cases {
				question := asked{
					Note: version + "/" + each.Note, Modules: each.Modules, V1: version == "v1",
					Query: each.Query, Input: each.Input, InputTerm: each.InputTerm,
				}
				if each.Data != nil {
					question.Data = *each.Data
				}
				found := one(question)
				question.Answer = &found
				write(out, question)
			}
		}
	case len(os.Args) == 2 && os.Args[1] == "ask":
		in := bufio.NewReaderSize(os.Stdin, 1<<20)
		for {
			line, err := in.ReadBytes('\n')
			if len(line) > 0 {
				var question asked
				if e := util.UnmarshalJSON(line, &question); e != nil {
					panic(e)
				}
				found := one(question)
				write(out, asked{Answer: &found})
			}
			if err != nil {
				return
			}
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: oracle cases FOLDER | oracle ask")
		os.Exit(2)
	}
}

// write writes a line; what JSON cannot hold (numbers that are none) is an error instead.
func write(out *json.Encoder, question asked) {
	if err := out.Encode(question); err != nil {
		question.Answer = &answer{Error: err.Error()}
		if err := out.Encode(question); err != nil {
			panic(err)
		}
	}
}

func one(question asked) (found answer) {
	defer func() {
		if r := recover(); r != nil {
			found = answer{Error: fmt.Sprint(r)}
		}
	}()
	version := ast.RegoV0
	if question.V1 {
		version = ast.RegoV1
	}
	modules := map[string]*ast.Module{}
	for i, text := range question.Modules {
		name := fmt.Sprintf("test-%d.rego", i)
		module, err := ast.ParseModuleWithOpts(name, text, ast.ParserOptions{RegoVersion: version})
		if err != nil {
			return answer{Error: err.Error()}
		}
		modules[name] = module
	}
	compiler := ast.NewCompiler()
	compiler.Compile(modules)
	if compiler.Failed() {
		return answer{Error: compiler.Errors.Error()}
	}
	body, err := ast.ParseBody(question.Query)
	if err != nil {
		return answer{Error: err.Error()}
	}
	query, err := compiler.QueryCompiler().Compile(body)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return evaluated(question, compiler, query)
}

func evaluated(question asked, compiler *ast.Compiler, query ast.Body) answer {
	ctx := context.Background()
	data := question.Data
	if data == nil {
		data = map[string]any{}
	}
	store := inmem.NewFromObject(data)
	var input *ast.Term
	if question.InputTerm != nil {
		input = ast.MustParseTerm(*question.InputTerm)
	} else if question.Input != nil {
		input = ast.NewTerm(ast.MustInterfaceToValue(*question.Input))
	}
	cancel := topdown.NewCancel()
	defer time.AfterFunc(limit, cancel.Cancel).Stop()
	found, err := topdown.NewQuery(query).WithCompiler(compiler).WithStore(store).
		WithTransaction(storage.NewTransactionOrDie(ctx, store)).WithInput(input).
		WithCancel(cancel).Run(ctx)
	if err != nil {
		return answer{Error: err.Error()}
	}
	results := answer{Results: []map[string]any{}}
	for _, bindings := range found {
		got := map[string]any{}
		for name, term := range bindings {
			got[string(name)] = plain(term.Value)
		}
		results.Results = append(results.Results, got)
	}
	return results
}

func plain(value ast.Value) any {
	switch value := value.(type) {
	case *ast.Array:
		found := []any{}
		value.Foreach(func(term *ast.Term) { found = append(found, plain(term.Value)) })
		return found
	case ast.Set:
		found := []any{}
		value.Foreach(func(term *ast.Term) { found = append(found, plain(term.Value)) })
		return map[string]any{"$set": found}
	case ast.Object:
		found := map[string]any{}
		value.Foreach(func(key, term *ast.Term) { found[text(key.Value)] = plain(term.Value) })
		return found
	}
	found, err := ast.JSON(value)
	if err != nil {
		panic(err)
	}
	return found
}

// text returns a key of an object as its JSON has it.
func text(key ast.Value) string {
	if value, ok := key.(ast.String); ok {
		return string(value)
	}
	found, err := ast.JSON(key)
	if err != nil {
		panic(err)
	}
	written, err := json.Marshal(found)
	if err != nil {
		panic(err)
	}
	return string(written)
}
