// A server for comparison: graph-gophers/graphql-go over the AWS SDK. It reads a full page of every partition that the
// filter selects, as in the articles on which Marginalia's data model is based.
// Usage: graphql-go PORT ENDPOINT TABLE
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	graphql "github.com/graph-gophers/graphql-go"
)

const schema = `
  type Comment { id: ID! rating: Int! language: String! title: String! text: String! username: String! createdAt: String! }
  type PageInfo { hasNextPage: Boolean! endCursor: String }
  type CommentConnection { nodes: [Comment!]! pageInfo: PageInfo! }
  type Product {
    productId: String!
    comments(rating: [Int!], language: [String!], first: Int, after: String): CommentConnection!
  }
  type Query { product(productId: ID!): Product! comment(commentId: ID!): Comment }
`

const instant = 27 // length of createdAt in a sort key, before '#' and the id

var (
	client *dynamodb.Client
	table  string
)

type item = map[string]types.AttributeValue

func text(row item, name string) string { return row[name].(*types.AttributeValueMemberS).Value }

func escaped(name string) string {
	return strings.NewReplacer("%", "%25", "#", "%23", "/", "%2F").Replace(name)
}

type comment struct {
	ID                    graphql.ID
	Rating                int32
	Language              string
	Title, Text, Username string
	CreatedAt             string
}

func commentOf(row item) *comment {
	key := text(row, "GSISK")
	made := &comment{ID: graphql.ID(key[instant+1:]), Language: text(row, "language"), CreatedAt: key[:instant]}
	rating, _ := strconv.Atoi(row["rating"].(*types.AttributeValueMemberN).Value)
	made.Rating = int32(rating)
	if err := json.Unmarshal([]byte(text(row, "data")), made); err != nil {
		log.Print(err)
	}
	return made
}

type partition struct{ index, key, value string }

func partitions(product string, ratings []int32, languages *[]string) []partition {
	start := "PRODUCT#" + escaped(product)
	found := []partition{}
	switch {
	case ratings == nil && languages == nil:
		return []partition{{"all", "GSI4PK", start}}
	case ratings == nil:
		for _, language := range *languages {
			found = append(found, partition{"byLang", "GSI2PK", start + "/" + language})
		}
	case languages == nil:
		for _, rating := range ratings {
			found = append(found, partition{"byRating", "GSI3PK", fmt.Sprintf("%s/%d", start, rating)})
		}
	default:
		for _, language := range *languages {
			for _, rating := range ratings {
				found = append(found, partition{"byLangAndRating", "GSIPK", fmt.Sprintf("%s/%s/%d", start, language, rating)})
			}
		}
	}
	return found
}

func read(ctx context.Context, from partition, after string, limit int32) ([]item, error) {
	condition := "#key = :value"
	names := map[string]string{"#key": from.key}
	values := item{":value": &types.AttributeValueMemberS{Value: from.value}}
	if after != "" {
		condition += " AND #position < :after"
		names["#position"] = "GSISK"
		values[":after"] = &types.AttributeValueMemberS{Value: after}
	}
	answer, err := client.Query(ctx, &dynamodb.QueryInput{
		TableName: &table, IndexName: &from.index, Limit: &limit, ScanIndexForward: aws.Bool(false),
		KeyConditionExpression: &condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	if err != nil {
		return nil, err
	}
	return answer.Items, nil
}

type product struct{ ProductID string }

type page struct {
	Rating   *[]int32
	Language *[]string
	First    *int32
	After    *string
}

type pageInfo struct {
	HasNextPage bool
	EndCursor   *string
}

type connection struct {
	Nodes    []*comment
	PageInfo pageInfo
}

func (p *product) Comments(ctx context.Context, asked page) (*connection, error) {
	first, after := int32(20), ""
	if asked.First != nil {
		first = *asked.First
	}
	if asked.After != nil {
		position, err := base64.RawURLEncoding.DecodeString(*asked.After)
		if err != nil {
			return nil, err
		}
		after = string(position)
	}
	var ratings []int32
	if asked.Rating != nil && len(*asked.Rating) < 5 {
		ratings = *asked.Rating
	}
	selected := partitions(p.ProductID, ratings, asked.Language)
	lists, errs := make([][]item, len(selected)), make([]error, len(selected))
	var all sync.WaitGroup
	for place, from := range selected {
		all.Add(1)
		go func(place int, from partition) {
			defer all.Done()
			lists[place], errs[place] = read(ctx, from, after, first+1)
		}(place, from)
	}
	all.Wait()
	rows := []item{}
	for place, list := range lists {
		if errs[place] != nil {
			return nil, errs[place]
		}
		rows = append(rows, list...)
	}
	sort.Slice(rows, func(one, other int) bool { return text(rows[one], "GSISK") > text(rows[other], "GSISK") })
	made := &connection{Nodes: []*comment{}, PageInfo: pageInfo{HasNextPage: len(rows) > int(first)}}
	if made.PageInfo.HasNextPage {
		rows = rows[:first]
	}
	for _, row := range rows {
		made.Nodes = append(made.Nodes, commentOf(row))
	}
	if len(rows) > 0 {
		cursor := base64.RawURLEncoding.EncodeToString([]byte(text(rows[len(rows)-1], "GSISK")))
		made.PageInfo.EndCursor = &cursor
	}
	return made, nil
}

type query struct{}

func (*query) Product(asked struct{ ProductID graphql.ID }) *product {
	return &product{string(asked.ProductID)}
}

func (*query) Comment(ctx context.Context, asked struct{ CommentID graphql.ID }) (*comment, error) {
	key := &types.AttributeValueMemberS{Value: "COMMENT#" + escaped(string(asked.CommentID))}
	answer, err := client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &table, Key: item{"PK": key, "SK": key}, ConsistentRead: aws.Bool(true),
	})
	if err != nil || answer.Item == nil {
		return nil, err
	}
	return commentOf(answer.Item), nil
}

// wholeBodies passes each request to net/http with its body in memory. The SDK closes its own kind of body as soon as a
// response begins. If net/http has not looked for the end of this body yet, it gets an error (io.EOF of the SDK's
// WriteTo), and closes the connection while the SDK reads the response.
type wholeBodies struct{ http.Client }

func (c *wholeBodies) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	return c.Client.Do(request)
}

func main() {
	table = os.Args[3]
	endpoint := os.Args[2]
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	client = dynamodb.New(dynamodb.Options{
		Region:           "us-east-1",
		Credentials:      credentials.NewStaticCredentialsProvider("bench", "bench", ""),
		EndpointResolver: dynamodb.EndpointResolverFromURL(endpoint),
		HTTPClient:       &wholeBodies{http.Client{Transport: transport}},
	})
	parsed := graphql.MustParseSchema(schema, &query{}, graphql.UseFieldResolvers())
	http.HandleFunc("/graphql", func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Query     string
			Variables map[string]interface{}
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body, _ := json.Marshal(parsed.Exec(r.Context(), asked.Query, "", asked.Variables))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body))) // otherwise Go sends a page in chunks, which the load generator cannot read
		_, _ = w.Write(body)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
